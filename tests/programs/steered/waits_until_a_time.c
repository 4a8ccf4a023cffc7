// Every way to wait until a time of day, by a clock that only goes on when it is asked: each takes its time, and it is over then.
#define _GNU_SOURCE
#include "../check.h"
#include <semaphore.h>
#include <threads.h>

enum { WAIT = 10 };

static struct timespec began;

static long nanoseconds(struct timespec time)
{
    return time.tv_sec * 1000000000 + time.tv_nsec;
}

static struct timespec now(clockid_t clock)
{
    return from_now(clock, 0);
}

static struct timespec begin(clockid_t clock)
{
    began = now(CLOCK_MONOTONIC);
    return from_now(clock, WAIT);
}

static void waited(const char *how, struct timespec until)
{
    struct timespec after = now(CLOCK_REALTIME);
    printf("%s %ld %09ld\n", how, (long)after.tv_sec, after.tv_nsec);
    CHECK(nanoseconds(after) >= nanoseconds(until));
    CHECK(nanoseconds(now(CLOCK_MONOTONIC)) - nanoseconds(began) >= WAIT * 1000000);
}

#define UNTIL(call, code)                                                                                 \
    do {                                                                                                  \
        struct timespec until = begin(CLOCK_REALTIME);                                                    \
        RETURNS(call, code);                                                                              \
        waited(#call, until);                                                                             \
    } while (0)

#define UNTIL_FAILS(call)                                                                                 \
    do {                                                                                                  \
        struct timespec until = begin(CLOCK_REALTIME);                                                    \
        FAILS(call, ETIMEDOUT);                                                                           \
        waited(#call, until);                                                                             \
    } while (0)

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static mtx_t mine_too, taken_too;
static cnd_t never_too;
static sem_t none;

static void sleeps(void)
{
    const struct timespec wait = {0, WAIT * 1000000};
    UNTIL(nanosleep(&wait, NULL), 0);
    UNTIL(usleep(WAIT * 1000), 0);
    UNTIL(thrd_sleep(&wait, NULL), 0);
    UNTIL(clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL), 0);
    UNTIL(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL), 0);
    struct timespec end = begin(CLOCK_REALTIME);
    while (nanoseconds(now(CLOCK_REALTIME)) < nanoseconds(end))
        sleep_ms(1);
    waited("little sleeps", end);
    end = from_now(CLOCK_REALTIME, 1000);
    CHECK(sleep(1) == 0);
    waited("sleep", end);
}

static void *waits(void *main_thread)
{
    UNTIL(pthread_mutex_timedlock(&taken, &until), ETIMEDOUT);
    UNTIL(pthread_mutex_clocklock(&taken, CLOCK_REALTIME, &until), ETIMEDOUT);
    UNTIL(pthread_rwlock_timedrdlock(&shared, &until), ETIMEDOUT);
    UNTIL(pthread_rwlock_timedwrlock(&shared, &until), ETIMEDOUT);
    UNTIL(pthread_rwlock_clockrdlock(&shared, CLOCK_REALTIME, &until), ETIMEDOUT);
    UNTIL(pthread_rwlock_clockwrlock(&shared, CLOCK_REALTIME, &until), ETIMEDOUT);
    UNTIL(mtx_timedlock(&taken_too, &until), thrd_timedout);
    UNTIL_FAILS(sem_timedwait(&none, &until));
    UNTIL_FAILS(sem_clockwait(&none, CLOCK_REALTIME, &until));
    UNTIL(pthread_timedjoin_np(*(pthread_t *)main_thread, NULL, &until), ETIMEDOUT);
    UNTIL(pthread_clockjoin_np(*(pthread_t *)main_thread, NULL, CLOCK_REALTIME, &until), ETIMEDOUT);
    OK(pthread_mutex_lock(&mine));
    UNTIL(pthread_cond_timedwait(&never, &mine, &until), ETIMEDOUT);
    UNTIL(pthread_cond_clockwait(&never, &mine, CLOCK_REALTIME, &until), ETIMEDOUT);
    OK(pthread_mutex_unlock(&mine));
    OK(mtx_lock(&mine_too));
    UNTIL(cnd_timedwait(&never_too, &mine_too, &until), thrd_timedout);
    OK(mtx_unlock(&mine_too));
    // What is refused stays refused.
    FAILS(sem_timedwait(&none, &BAD_TIME), EINVAL);
    RETURNS(pthread_mutex_timedlock(&taken, &BAD_TIME), EINVAL);
    RETURNS(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &BAD_TIME, NULL), EINVAL);
    FAILS(nanosleep(&BAD_TIME, NULL), EINVAL);
    // A loop that waits by another clock. What it is then is not quite the same in every run.
    OK(pthread_mutex_lock(&mine));
    struct timespec end = begin(CLOCK_REALTIME);
    while (nanoseconds(now(CLOCK_REALTIME)) < nanoseconds(end)) {
        struct timespec soon = from_now(CLOCK_MONOTONIC, WAIT / 2);
        RETURNS(pthread_cond_clockwait(&never, &mine, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    }
    CHECK(nanoseconds(now(CLOCK_MONOTONIC)) - nanoseconds(began) >= WAIT * 1000000);
    OK(pthread_mutex_unlock(&mine));
    return NULL;
}

static int cleanups;

static void count(void *unused)
{
    (void)unused;
    cleanups++;
}

// For ever, until it is cancelled there.
static void *sleep_on(void *by_a_deadline)
{
    const struct timespec long_time = {1 << 30, 0};
    struct timespec late = from_now(CLOCK_REALTIME, 0);
    late.tv_sec += long_time.tv_sec;
    pthread_cleanup_push(count, NULL);
    if (by_a_deadline)
        clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &late, NULL);
    else
        nanosleep(&long_time, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelled(void *by_a_deadline)
{
    pthread_t id;
    void *result;
    OK(pthread_create(&id, NULL, sleep_on, by_a_deadline));
    sleep_ms(WAIT);
    OK(pthread_cancel(id));
    OK(pthread_join(id, &result));
    CHECK(result == PTHREAD_CANCELED);
}

int main(void)
{
    pthread_t id, me = pthread_self();
    OK(mtx_init(&mine_too, mtx_plain));
    OK(mtx_init(&taken_too, mtx_timed));
    OK(cnd_init(&never_too));
    OK(sem_init(&none, 0, 0));
    sleeps();
    OK(pthread_mutex_lock(&taken));
    OK(pthread_rwlock_wrlock(&shared));
    OK(mtx_lock(&taken_too));
    OK(pthread_create(&id, NULL, waits, &me));
    OK(pthread_join(id, NULL));
    cancelled(NULL);
    cancelled(&id);
    CHECK(cleanups == 2);
    return 0;
}
