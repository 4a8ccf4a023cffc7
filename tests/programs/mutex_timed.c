// timedlock and clocklock: ETIMEDOUT not before its time, EINVAL for a bad time, no time looked at when the lock is free.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int past(clockid_t clock, struct timespec when)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > when.tv_sec || (now.tv_sec == when.tv_sec && now.tv_nsec >= when.tv_nsec);
}

static void *contender(void *unused)
{
    struct timespec when = from_now(CLOCK_REALTIME, 20);
    RETURNS(pthread_mutex_timedlock(&lock, &when), ETIMEDOUT);
    CHECK(past(CLOCK_REALTIME, when));
    when = from_now(CLOCK_MONOTONIC, 20);
    RETURNS(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &when), ETIMEDOUT);
    CHECK(past(CLOCK_MONOTONIC, when));
    when = from_now(CLOCK_REALTIME, 20);
    RETURNS(pthread_mutex_clocklock(&lock, CLOCK_REALTIME, &when), ETIMEDOUT);
    RETURNS(pthread_mutex_timedlock(&lock, &BAD_TIME), EINVAL);
    RETURNS(pthread_mutex_clocklock(&lock, CLOCK_PROCESS_CPUTIME_ID, &when), EINVAL);
    RETURNS(pthread_mutex_trylock(&lock), EBUSY);
    return unused;
}

int main(void)
{
    pthread_t id;
    struct timespec late = from_now(CLOCK_MONOTONIC, 100000);
    OK(pthread_mutex_timedlock(&lock, &BAD_TIME));
    OK(pthread_create(&id, NULL, contender, NULL));
    OK(pthread_join(id, NULL));
    OK(pthread_mutex_unlock(&lock));
    OK(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &late));
    OK(pthread_mutex_unlock(&lock));
    puts("ok");
    return 0;
}
