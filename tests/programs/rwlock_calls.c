// Every rwlock call and every code that it can return.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *against_reader(void *unused)
{
    struct timespec soon = from_now(CLOCK_REALTIME, 10), soon_monotonic = from_now(CLOCK_MONOTONIC, 10);
    OK(pthread_rwlock_tryrdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    RETURNS(pthread_rwlock_trywrlock(&lock), EBUSY);
    RETURNS(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
    RETURNS(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &soon_monotonic), ETIMEDOUT);
    RETURNS(pthread_rwlock_timedwrlock(&lock, &BAD_TIME), EINVAL);
    soon = from_now(CLOCK_REALTIME, 10000);
    OK(pthread_rwlock_timedrdlock(&lock, &soon));
    OK(pthread_rwlock_unlock(&lock));
    soon = from_now(CLOCK_MONOTONIC, 10000);
    OK(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &soon));
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void *against_writer(void *unused)
{
    struct timespec soon = from_now(CLOCK_REALTIME, 10), soon_monotonic = from_now(CLOCK_MONOTONIC, 10);
    RETURNS(pthread_rwlock_tryrdlock(&lock), EBUSY);
    RETURNS(pthread_rwlock_trywrlock(&lock), EBUSY);
    RETURNS(pthread_rwlock_timedrdlock(&lock, &soon), ETIMEDOUT);
    RETURNS(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &soon_monotonic), ETIMEDOUT);
    return unused;
}

static void run(void *(*routine)(void *))
{
    pthread_t id;
    OK(pthread_create(&id, NULL, routine, NULL));
    OK(pthread_join(id, NULL));
}

int main(void)
{
    OK(pthread_rwlock_rdlock(&lock));
    OK(pthread_rwlock_rdlock(&lock));
    run(against_reader);
    OK(pthread_rwlock_unlock(&lock));
    run(against_reader);
    OK(pthread_rwlock_unlock(&lock));

    OK(pthread_rwlock_wrlock(&lock));
    RETURNS(pthread_rwlock_wrlock(&lock), EDEADLK);
    RETURNS(pthread_rwlock_rdlock(&lock), EDEADLK);
    run(against_writer);
    OK(pthread_rwlock_unlock(&lock));

    OK(pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    struct timespec soon = from_now(CLOCK_REALTIME, 10000);
    OK(pthread_rwlock_timedwrlock(&lock, &soon));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));

    pthread_rwlockattr_t writers_first;
    OK(pthread_rwlockattr_init(&writers_first));
    OK(pthread_rwlockattr_setkind_np(&writers_first, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlock_init(&lock, &writers_first));
    OK(pthread_rwlock_wrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
    puts("ok");
    return 0;
}
