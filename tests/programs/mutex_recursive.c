// A recursive mutex, by attribute and by initialiser: counted, owned, EPERM for strangers.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t lock;
static pthread_mutex_t constant = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *stranger(void *mutex)
{
    RETURNS(pthread_mutex_trylock(mutex), EBUSY);
    RETURNS(pthread_mutex_unlock(mutex), EPERM);
    return NULL;
}

static void *next_owner(void *mutex)
{
    OK(pthread_mutex_trylock(mutex));
    OK(pthread_mutex_unlock(mutex));
    return NULL;
}

static void run(void *(*routine)(void *), pthread_mutex_t *mutex)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, routine, mutex));
    OK(pthread_join(id, NULL));
}

static void try_all(pthread_mutex_t *mutex)
{
    for (int i = 0; i < 3; i++)
        OK(i == 1 ? pthread_mutex_trylock(mutex) : pthread_mutex_lock(mutex));
    for (int i = 0; i < 3; i++) {
        run(stranger, mutex);
        OK(pthread_mutex_unlock(mutex));
    }
    RETURNS(pthread_mutex_unlock(mutex), EPERM);
    run(next_owner, mutex);
}

int main(void)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutex_init(&lock, &attributes));
    try_all(&lock);
    try_all(&constant);
    puts("ok");
    return 0;
}
