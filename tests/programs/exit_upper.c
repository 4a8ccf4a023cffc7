// _Exit() while another thread is busy locking.
// exit: 8
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void at_exit(void) { puts("atexit must not run"); }

static void *locker(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    OK(pthread_create(&thread, NULL, locker, NULL));
    sleep_ms(20);
    _Exit(8);
}
