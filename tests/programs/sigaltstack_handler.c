// Handlers on an alternate stack of minimal size, which also lock.
// flags: -D_GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/auxv.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t hits;
static _Thread_local char *low, *high;

static void handler(int unused)
{
    char here;
    (void)unused;
    CHECK(&here >= low && &here < high);
    pthread_mutex_lock(&lock);
    hits++;
    pthread_mutex_unlock(&lock);
}

static void *thread(void *unused)
{
    // The kernel says how much a signal frame needs here; a little more is for the handler itself.
    size_t size = getauxval(AT_MINSIGSTKSZ) + 4096;
    low = malloc(size);
    high = low + size;
    stack_t stack = {.ss_sp = low, .ss_size = size}, off = {.ss_flags = SS_DISABLE};
    OK(sigaltstack(&stack, NULL));
    for (int i = 0; i < 100; i++)
        OK(pthread_kill(pthread_self(), SIGUSR1));
    OK(sigaltstack(&off, NULL));
    free(low);
    return unused;
}

int main(void)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    OK(sigaction(SIGUSR1, &action, NULL));
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_join(id, NULL));
    thread(NULL);
    CHECK(hits == 200);
    puts("ok");
    return 0;
}
