// Signals to the process interrupt main's sleep: only main has them unblocked, so only main may take them.
// flags: -D_GNU_SOURCE
#include "check.h"
#include <signal.h>

static volatile sig_atomic_t hits;
static volatile pid_t handled_by;
static pid_t main_tid;
static volatile int stop;

static void handler(int unused)
{
    (void)unused;
    handled_by = gettid();
    hits++;
}

static void *blocked(void *unused)
{
    sigset_t all;
    sigfillset(&all);
    OK(pthread_sigmask(SIG_BLOCK, &all, NULL));
    for (int i = 0; i < 50; i++) {
        int before = hits;
        OK(kill(getpid(), SIGUSR1));
        while (hits == before)
            sleep_ms(1);
        CHECK(handled_by == main_tid);
    }
    stop = 1;
    OK(kill(getpid(), SIGUSR1));
    return unused;
}

int main(void)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = handler};
    main_tid = gettid();
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_create(&id, NULL, blocked, NULL));
    while (!stop) {
        struct timespec while_idle = {1, 0};
        if (nanosleep(&while_idle, NULL) == -1)
            CHECK(errno == EINTR);
    }
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
