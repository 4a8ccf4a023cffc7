// Threads are created and joined while signals arrive; each new thread starts with the mask of its creator.
#include "check.h"
#include <signal.h>
#include <sys/time.h>

static volatile sig_atomic_t hits;

static void on_timer(int unused)
{
    (void)unused;
    hits++;
}

static void *thread(void *unused)
{
    sigset_t mask;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &mask));
    CHECK(sigismember(&mask, SIGUSR2) == 1);
    CHECK(sigismember(&mask, SIGUSR1) == 0 && sigismember(&mask, SIGALRM) == 0 && sigismember(&mask, SIGTERM) == 0);
    return unused;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    OK(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
    OK(sigaction(SIGALRM, &action, NULL));
    OK(setitimer(ITIMER_REAL, &often, NULL));
    for (int i = 0; i < 300; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, thread, NULL));
        OK(pthread_join(id, NULL));
    }
    while (hits < 10)
        sleep_ms(1);
    OK(setitimer(ITIMER_REAL, &off, NULL));
    puts("ok");
    return 0;
}
