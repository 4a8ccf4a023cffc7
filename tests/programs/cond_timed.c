// Condition variables with time limits: ETIMEDOUT on each clock with the mutex held again, EINVAL, and a signal in time.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t realtime = PTHREAD_COND_INITIALIZER, monotonic;
static int go;

static void *signaller(void *cond)
{
    OK(pthread_mutex_lock(&lock));
    go = 1;
    OK(pthread_cond_signal(cond));
    OK(pthread_mutex_unlock(&lock));
    return NULL;
}

int main(void)
{
    pthread_condattr_t attributes;
    pthread_t id;
    OK(pthread_condattr_init(&attributes));
    OK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC));
    OK(pthread_cond_init(&monotonic, &attributes));
    OK(pthread_mutex_lock(&lock));
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    RETURNS(pthread_cond_timedwait(&realtime, &lock, &soon), ETIMEDOUT);
    soon = from_now(CLOCK_MONOTONIC, 10);
    RETURNS(pthread_cond_timedwait(&monotonic, &lock, &soon), ETIMEDOUT);
    soon = from_now(CLOCK_MONOTONIC, 10);
    RETURNS(pthread_cond_clockwait(&realtime, &lock, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    RETURNS(pthread_cond_timedwait(&realtime, &lock, &BAD_TIME), EINVAL);
    RETURNS(pthread_cond_clockwait(&realtime, &lock, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    RETURNS(pthread_mutex_trylock(&lock), EBUSY);
    for (int kind = 0; kind < 3; kind++) {
        pthread_cond_t *cond = kind == 1 ? &monotonic : &realtime;
        go = 0;
        OK(pthread_create(&id, NULL, signaller, cond));
        soon = from_now(kind == 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 50000);
        while (!go)
            OK(kind == 2 ? pthread_cond_clockwait(cond, &lock, CLOCK_MONOTONIC, &soon)
                         : pthread_cond_timedwait(cond, &lock, &soon));
        OK(pthread_join(id, NULL));
    }
    OK(pthread_mutex_unlock(&lock));
    OK(pthread_cond_destroy(&monotonic));
    puts("ok");
    return 0;
}
