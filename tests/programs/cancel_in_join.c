// Cancelling a thread that waits in pthread_join leaves the other thread joinable.
#include "check.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused)
{
    (void)unused;
    OK(pthread_mutex_lock(&gate));
    OK(pthread_mutex_unlock(&gate));
    return (void *)42;
}

static void *joiner(void *other)
{
    pthread_join(*(pthread_t *)other, NULL);
    CHECK(!"joined");
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t a, b;
        void *value;
        OK(pthread_mutex_lock(&gate));
        OK(pthread_create(&a, NULL, worker, NULL));
        OK(pthread_create(&b, NULL, joiner, &a));
        sleep_ms(2);
        OK(pthread_cancel(b));
        OK(pthread_join(b, &value));
        CHECK(value == PTHREAD_CANCELED);
        OK(pthread_mutex_unlock(&gate));
        OK(pthread_join(a, &value));
        CHECK(value == (void *)42);
    }
    puts("ok");
    return 0;
}
