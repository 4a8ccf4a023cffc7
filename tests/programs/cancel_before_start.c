// Threads are cancelled so early that they may not have reached their start routine, and detached while they run.
#include "check.h"

static pthread_key_t key;

static void *worker(void *unused)
{
    for (;;)
        pthread_testcancel();
    return unused;
}

int main(void)
{
    OK(pthread_key_create(&key, NULL));
    for (int i = 0; i < 200; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, worker, NULL));
        OK(pthread_cancel(id));
        if (i % 2) {
            void *value;
            OK(pthread_join(id, &value));
            CHECK(value == PTHREAD_CANCELED);
        } else {
            OK(pthread_detach(id));
        }
    }
    puts("ok");
    return 0;
}
