// tryjoin, timedjoin, clockjoin: EBUSY, ETIMEDOUT, the value; EDEADLK for oneself; EINVAL for a detached thread.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *behind_gate(void *value)
{
    OK(pthread_mutex_lock(&gate));
    OK(pthread_mutex_unlock(&gate));
    return value;
}

int main(void)
{
    for (intptr_t kind = 0; kind < 3; kind++) {
        pthread_t id;
        void *value = NULL;
        OK(pthread_mutex_lock(&gate));
        OK(pthread_create(&id, NULL, behind_gate, (void *)(kind + 1)));
        struct timespec soon = from_now(CLOCK_REALTIME, 10), soon_monotonic = from_now(CLOCK_MONOTONIC, 10);
        RETURNS(pthread_tryjoin_np(id, &value), EBUSY);
        RETURNS(pthread_timedjoin_np(id, &value, &soon), ETIMEDOUT);
        RETURNS(pthread_clockjoin_np(id, &value, CLOCK_MONOTONIC, &soon_monotonic), ETIMEDOUT);
        OK(pthread_mutex_unlock(&gate));
        soon = from_now(CLOCK_REALTIME, 50000);
        soon_monotonic = from_now(CLOCK_MONOTONIC, 50000);
        if (kind == 0)
            while (pthread_tryjoin_np(id, &value) == EBUSY)
                sleep_ms(1);
        else if (kind == 1)
            OK(pthread_timedjoin_np(id, &value, &soon));
        else
            OK(pthread_clockjoin_np(id, &value, CLOCK_MONOTONIC, &soon_monotonic));
        CHECK((intptr_t)value == kind + 1);
    }
    RETURNS(pthread_join(pthread_self(), NULL), EDEADLK);
    OK(pthread_mutex_lock(&gate));
    pthread_t id;
    OK(pthread_create(&id, NULL, behind_gate, NULL));
    OK(pthread_detach(id));
    RETURNS(pthread_join(id, NULL), EINVAL);
    RETURNS(pthread_detach(id), EINVAL);
    OK(pthread_mutex_unlock(&gate));
    puts("ok");
    return 0;
}
