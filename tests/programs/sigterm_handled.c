// The program's own SIGTERM handler, SIG_IGN and what sigaction reports about them stay the program's.
// exit: 12
#include "check.h"
#include <signal.h>

static volatile sig_atomic_t told;

static void on_term(int signal) { told = signal; }
static void *idle(void *unused) { return unused; }

int main(void)
{
    struct sigaction before, action = {0};
    pthread_t thread;
    OK(pthread_create(&thread, NULL, idle, NULL));
    OK(pthread_join(thread, NULL));
    int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGSEGV, SIGABRT, SIGUSR1, SIGPIPE, SIGCHLD};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        CHECK(sigaction(signals[i], NULL, &before) == 0);
        CHECK(before.sa_handler == SIG_DFL);
    }
    action.sa_handler = on_term;
    CHECK(sigaction(SIGTERM, &action, &before) == 0);
    CHECK(before.sa_handler == SIG_DFL);
    kill(getpid(), SIGTERM);
    while (!told)
        sleep_ms(1);
    CHECK(told == SIGTERM);
    CHECK(signal(SIGINT, SIG_IGN) == SIG_DFL);
    kill(getpid(), SIGINT);
    CHECK(signal(SIGINT, SIG_DFL) == SIG_IGN);
    puts("handled");
    return 12;
}
