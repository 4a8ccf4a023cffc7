// Cancellation inside pthread_cond_timedwait: the mutex is held again when the cleanup handler runs.
// flags: -D_GNU_SOURCE
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int waiting, cleaned;

static void cleanup(void *unused)
{
    (void)unused;
    RETURNS(pthread_mutex_trylock(&lock), EBUSY);
    cleaned++;
    OK(pthread_mutex_unlock(&lock));
}

static void *waiter(void *unused)
{
    struct timespec late = from_now(CLOCK_REALTIME, 100000);
    OK(pthread_mutex_lock(&lock));
    pthread_cleanup_push(cleanup, NULL);
    waiting = 1;
    for (;;)
        OK(pthread_cond_timedwait(&never, &lock, &late));
    pthread_cleanup_pop(0);
    return unused;
}

// Whoever sees the flag under the lock knows that the waiter has let the lock go by waiting.
static int is_waiting(void)
{
    OK(pthread_mutex_lock(&lock));
    int seen = waiting;
    OK(pthread_mutex_unlock(&lock));
    return seen;
}

int main(void)
{
    for (int i = 1; i <= 20; i++) {
        pthread_t id;
        void *value;
        waiting = 0;
        OK(pthread_create(&id, NULL, waiter, NULL));
        while (!is_waiting())
            sleep_ms(1);
        OK(pthread_cancel(id));
        OK(pthread_join(id, &value));
        CHECK(value == PTHREAD_CANCELED && cleaned == i);
    }
    puts("ok");
    return 0;
}
