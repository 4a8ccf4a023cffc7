// SIGTERM with its default action, sent to a process whose threads lock and wait.
// exit: SIGTERM
#include "check.h"
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

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
    puts("waiting for the signal");
    fflush(stdout);
    OK(pthread_create(&thread, NULL, locker, NULL));
    sleep_ms(20);
    kill(getpid(), SIGTERM);
    pause();
    return 0;
}
