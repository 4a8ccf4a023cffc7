// Asynchronous cancellation of a loop without cancellation points.
#include "check.h"

static volatile int started;
static volatile long spins;

static void *spinner(void *unused)
{
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    started = 1;
    for (;;)
        spins++;
    return unused;
}

int main(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        void *value;
        started = 0;
        OK(pthread_create(&id, NULL, spinner, NULL));
        while (!started)
            sleep_ms(1);
        OK(pthread_cancel(id));
        OK(pthread_join(id, &value));
        CHECK(value == PTHREAD_CANCELED);
    }
    puts("ok");
    return 0;
}
