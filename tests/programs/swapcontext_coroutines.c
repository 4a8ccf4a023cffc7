// Coroutines on their own stacks, switched in the middle of functions and while a lock is held.
// findings: any
#include "check.h"
#include <ucontext.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

static void run_two(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

enum { ROUNDS = 1000 };
static _Thread_local ucontext_t scheduler, routines[2];
static _Thread_local int steps;

static void step(int who)
{
    OK(pthread_mutex_lock(&lock));
    sum++;
    OK(pthread_mutex_unlock(&lock));
    steps++;
    OK(swapcontext(&routines[who], &scheduler));
}

static void routine(int who)
{
    for (int i = 0; i < ROUNDS; i++)
        step(who);
}

static void *run(void *unused)
{
    char *stacks[2];
    for (int i = 0; i < 2; i++) {
        stacks[i] = malloc(65536);
        OK(getcontext(&routines[i]));
        routines[i].uc_stack.ss_sp = stacks[i];
        routines[i].uc_stack.ss_size = 65536;
        routines[i].uc_link = &scheduler;
        makecontext(&routines[i], (void (*)(void))routine, 1, i);
    }
    for (int i = 0; i < 2 * (ROUNDS + 1); i++)
        OK(swapcontext(&scheduler, &routines[i % 2]));
    CHECK(steps == 2 * ROUNDS);
    free(stacks[0]);
    free(stacks[1]);
    return unused;
}

int main(void)
{
    pthread_t id;
    run_two();
    OK(pthread_create(&id, NULL, run, NULL));
    run(NULL);
    OK(pthread_join(id, NULL));
    printf("%d\n", sum);
    return 0;
}
