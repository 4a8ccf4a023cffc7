// A thread overflows its stack; the handler on the alternate stack notices and ends the process.
// exit: 14
#include "check.h"
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void on_segv(int unused)
{
    (void)unused;
    CHECK(write(1, "stack overflow\n", 15) == 15);
    _exit(14);
}

static int recurse(int depth);
static int (*volatile recurse_again)(int) = recurse;

static int recurse(int depth)
{
    volatile char page[1000];
    page[0] = (char)depth;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return recurse_again(depth + 1) + page[0];
}

static void *thread(void *unused)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    OK(sigaltstack(&stack, NULL));
    recurse(0);
    return unused;
}

int main(void)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = on_segv, .sa_flags = SA_ONSTACK};
    OK(sigaction(SIGSEGV, &action, NULL));
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_join(id, NULL));
    return 0;
}
