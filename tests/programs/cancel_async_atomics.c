// Asynchronous cancellation in the middle of atomic operations, and of oneself.
#include "check.h"
#include <stdatomic.h>

static atomic_int number;
static pthread_barrier_t started;

__attribute__((noinline)) static int add(int more) { return atomic_fetch_add(&number, more) + atomic_load(&number); }

static void *add_for_ever(void *unused)
{
    pthread_barrier_wait(&started);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    for (int i = 0;; i++)
        add(i);
    return unused;
}

static void *cancel_oneself(void *unused)
{
    pthread_barrier_wait(&started);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    pthread_cancel(pthread_self());
    return unused;
}

int main(void)
{
    OK(pthread_barrier_init(&started, NULL, 2));
    for (int i = 0; i < 200; i++) {
        pthread_t id;
        void *value;
        OK(pthread_create(&id, NULL, i % 10 == 0 ? cancel_oneself : add_for_ever, NULL));
        pthread_barrier_wait(&started);
        usleep((useconds_t)i);
        if (i % 10 != 0)
            OK(pthread_cancel(id));
        OK(pthread_join(id, &value));
        CHECK(value == PTHREAD_CANCELED);
    }
    puts("ok");
    return 0;
}
