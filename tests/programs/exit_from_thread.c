// exit() in a thread while main waits for it and another thread holds a lock.
// exit: 3
#include "check.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready;

static void at_exit(void) { puts("atexit ran"); }

static void *holder(void *unused)
{
    OK(pthread_mutex_lock(&held));
    pthread_barrier_wait(&ready);
    pause();
    return unused;
}

static void *leaver(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&ready);
    puts("leaving");
    exit(3);
}

int main(void)
{
    pthread_t a, b;
    atexit(at_exit);
    OK(pthread_barrier_init(&ready, NULL, 2));
    OK(pthread_create(&a, NULL, holder, NULL));
    OK(pthread_create(&b, NULL, leaver, NULL));
    pthread_join(b, NULL);
    puts("never reached");
    return 0;
}
