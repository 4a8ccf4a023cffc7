// All threads block the signals and one waits for them: nobody else may eat a signal sent to the process.
#include "check.h"
#include <signal.h>

static int answers[2];

static void *waiter(void *set)
{
    for (int i = 0; i < 100; i++) {
        int signal;
        OK(sigwait(set, &signal));
        CHECK(signal == SIGUSR1 || signal == SIGTERM);
        // One at a time: pending signals of one number would merge.
        CHECK(write(answers[1], "x", 1) == 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t id;
    sigset_t set;
    char byte;
    OK(pipe(answers));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    OK(pthread_create(&id, NULL, waiter, &set));
    for (int i = 0; i < 100; i++) {
        OK(kill(getpid(), i % 2 ? SIGUSR1 : SIGTERM));
        CHECK(read(answers[0], &byte, 1) == 1);
    }
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
