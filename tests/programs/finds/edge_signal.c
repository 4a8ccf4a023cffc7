// The culprit waits for a signal that the block's thread sends to the process.
#include "shared_value.h"
#include <signal.h>

static sigset_t signals;
__attribute__((constructor)) static void init(void)
{
    OK(sigemptyset(&signals));
    OK(sigaddset(&signals, SIGUSR1));
    OK(pthread_sigmask(SIG_BLOCK, &signals, NULL));
}

#define RELEASE() OK(kill(getpid(), SIGUSR1))
#define AWAIT() OK(sigwait(&signals, &(int){0}))
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
