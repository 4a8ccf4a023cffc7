// exit() in a signal handler that interrupts a loop of locking, most likely inside a hook.
// exit: 4
#include "check.h"
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long turns;

static void on_alarm(int unused)
{
    (void)unused;
    exit(4);
}

static void *locker(void *unused)
{
    for (;;) {
        OK(pthread_mutex_lock(&lock));
        turns++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t thread;
    puts("exits in a handler");
    fflush(stdout);
    signal(SIGALRM, on_alarm);
    OK(pthread_create(&thread, NULL, locker, NULL));
    ualarm(30000, 0);
    locker(NULL);
}
