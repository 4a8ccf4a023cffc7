// A thread that is cancelled while it sleeps runs its cleanup handlers, whichever way it went to sleep.
#include "check.h"
#include <threads.h>

static int cleanups;

static void count(void *unused)
{
    (void)unused;
    cleanups++;
}

enum { WAYS = 6 };

static void sleep_on(long way)
{
    const struct timespec day = {86400, 0};
    struct timespec late = from_now(CLOCK_REALTIME, 86400000);
    switch (way) {
    case 0: nanosleep(&day, NULL); break;
    case 1: thrd_sleep(&day, NULL); break;
    case 2: usleep(4000000000u); break;
    case 3: sleep(86400); break;
    case 4: clock_nanosleep(CLOCK_MONOTONIC, 0, &day, NULL); break;
    case 5: clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &late, NULL); break;
    }
}

static void *sleeper(void *way)
{
    pthread_cleanup_push(count, NULL);
    sleep_on((long)way);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    for (long way = 0; way < WAYS; way++) {
        pthread_t id;
        void *result;
        OK(pthread_create(&id, NULL, sleeper, (void *)way));
        sleep_ms(10);
        OK(pthread_cancel(id));
        OK(pthread_join(id, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
    CHECK(cleanups == WAYS);
    puts("ok");
    return 0;
}
