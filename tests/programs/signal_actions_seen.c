// The program sees the signal actions that it set, and can call the one before its own; a default that it sets again works.
// exit: SIGTERM
#include "check.h"
#include <signal.h>

static void (*before)(int);

static void *nothing(void *unused) { return unused; }

static void chain(int signal)
{
    if (before != SIG_DFL && before != SIG_IGN)
        before(signal);
    puts("handled");
    fflush(stdout);
}

int main(void)
{
    pthread_t id;
    struct sigaction action, seen;
    OK(pthread_create(&id, NULL, nothing, NULL));
    OK(pthread_join(id, NULL));

    before = signal(SIGUSR1, chain);
    CHECK(before == SIG_DFL);
    OK(raise(SIGUSR1));
    CHECK(signal(SIGUSR1, SIG_IGN) == chain);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_IGN);
    CHECK(signal(SIGUSR1, SIG_DFL) == SIG_DFL);

    OK(sigaction(SIGTERM, NULL, &seen));
    CHECK(seen.sa_handler == SIG_DFL && seen.sa_flags == 0);
    action = (struct sigaction){.sa_handler = chain, .sa_flags = SA_RESETHAND};
    OK(sigaction(SIGTERM, &action, &seen));
    CHECK(seen.sa_handler == SIG_DFL);
    OK(sigaction(SIGTERM, &seen, &action));
    CHECK(action.sa_handler == chain);
    FAILS(sigaction(SIGKILL, &seen, NULL), EINVAL);
    FAILS(sigaction(4711, NULL, &seen), EINVAL);
    CHECK(signal(SIGKILL, SIG_DFL) == SIG_ERR);
    raise(SIGTERM);
    return 0;
}
