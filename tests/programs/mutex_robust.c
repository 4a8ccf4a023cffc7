// A robust mutex whose owner dies: EOWNERDEAD, made consistent, usable; not made consistent, ENOTRECOVERABLE.
#include "check.h"

static pthread_mutex_t lock;

static void *die_with_lock(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    return unused;
}

static void *die_by_exit(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    pthread_exit(unused);
}

static void run(void *(*routine)(void *))
{
    pthread_t id;
    OK(pthread_create(&id, NULL, routine, NULL));
    OK(pthread_join(id, NULL));
}

int main(void)
{
    pthread_mutexattr_t robust;
    OK(pthread_mutexattr_init(&robust));
    OK(pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutex_init(&lock, &robust));

    run(die_with_lock);
    RETURNS(pthread_mutex_lock(&lock), EOWNERDEAD);
    OK(pthread_mutex_consistent(&lock));
    OK(pthread_mutex_unlock(&lock));

    run(die_by_exit);
    RETURNS(pthread_mutex_trylock(&lock), EOWNERDEAD);
    OK(pthread_mutex_consistent(&lock));
    OK(pthread_mutex_unlock(&lock));
    OK(pthread_mutex_lock(&lock));
    OK(pthread_mutex_unlock(&lock));

    run(die_with_lock);
    struct timespec soon = from_now(CLOCK_REALTIME, 1000);
    RETURNS(pthread_mutex_timedlock(&lock, &soon), EOWNERDEAD);
    OK(pthread_mutex_unlock(&lock));
    RETURNS(pthread_mutex_lock(&lock), ENOTRECOVERABLE);
    RETURNS(pthread_mutex_trylock(&lock), ENOTRECOVERABLE);
    OK(pthread_mutex_destroy(&lock));
    puts("ok");
    return 0;
}
