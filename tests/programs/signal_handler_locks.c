// Signal handlers that lock (a lock that interrupted code never holds) under a storm of timer signals.
#include "check.h"
#include <signal.h>
#include <sys/time.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER, handlers_only = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t hits;
static long turns;

static void on_timer(int unused)
{
    int saved = errno;
    (void)unused;
    // Two threads may be in the handler at once, hence the lock; the signal is blocked meanwhile, hence no self-deadlock.
    pthread_mutex_lock(&handlers_only);
    hits++;
    pthread_mutex_unlock(&handlers_only);
    errno = saved;
}

static void *worker(void *unused)
{
    for (int i = 0; i < 200000 || hits < 50; i++) {
        OK(pthread_mutex_lock(&normal));
        turns++;
        OK(pthread_mutex_unlock(&normal));
    }
    return unused;
}

int main(void)
{
    pthread_t ids[3];
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 200}, {0, 200}}, off = {{0, 0}, {0, 0}};
    OK(sigaction(SIGALRM, &action, NULL));
    OK(setitimer(ITIMER_REAL, &often, NULL));
    for (int i = 0; i < 3; i++)
        OK(pthread_create(&ids[i], NULL, worker, NULL));
    for (int i = 0; i < 3; i++)
        OK(pthread_join(ids[i], NULL));
    OK(setitimer(ITIMER_REAL, &off, NULL));
    CHECK(turns >= 600000 && hits >= 50);
    puts("ok");
    return 0;
}
