// An error-checking mutex: EDEADLK, EPERM, EBUSY.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t lock;
static pthread_mutex_t constant = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *stranger(void *mutex)
{
    struct timespec past = {0, 0};
    RETURNS(pthread_mutex_unlock(mutex), EPERM);
    RETURNS(pthread_mutex_trylock(mutex), EBUSY);
    RETURNS(pthread_mutex_timedlock(mutex, &past), ETIMEDOUT);
    return NULL;
}

static void try_all(pthread_mutex_t *mutex)
{
    pthread_t id;
    struct timespec late = from_now(CLOCK_REALTIME, 100000);
    OK(pthread_mutex_lock(mutex));
    RETURNS(pthread_mutex_lock(mutex), EDEADLK);
    RETURNS(pthread_mutex_trylock(mutex), EBUSY);
    RETURNS(pthread_mutex_timedlock(mutex, &late), EDEADLK);
    OK(pthread_create(&id, NULL, stranger, mutex));
    OK(pthread_join(id, NULL));
    OK(pthread_mutex_unlock(mutex));
    RETURNS(pthread_mutex_unlock(mutex), EPERM);
}

int main(void)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutex_init(&lock, &attributes));
    try_all(&lock);
    try_all(&constant);
    OK(pthread_mutex_destroy(&lock));
    puts("ok");
    return 0;
}
