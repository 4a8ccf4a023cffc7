// Deferred cancellation acts at cancellation points only, and cleanup handlers release what is held.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int started;

static void unlock(void *mutex) { OK(pthread_mutex_unlock(mutex)); }

static void *worker(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    pthread_cleanup_push(unlock, &lock);
    started = 1;
    for (;;)
        pthread_testcancel();
    pthread_cleanup_pop(0);
    return unused;
}

static void *sleeper(void *unused)
{
    started = 1;
    sleep_ms(100000);
    return unused;
}

static void cancel(void *(*routine)(void *))
{
    pthread_t id;
    void *value;
    started = 0;
    OK(pthread_create(&id, NULL, routine, NULL));
    while (!started)
        sleep_ms(1);
    OK(pthread_cancel(id));
    OK(pthread_join(id, &value));
    CHECK(value == PTHREAD_CANCELED);
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        cancel(worker);
        cancel(sleeper);
    }
    OK(pthread_mutex_trylock(&lock));
    puts("ok");
    return 0;
}
