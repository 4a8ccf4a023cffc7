// Threads with the smallest stack that the system allows, and with a stack of the program's own.
#include "check.h"
#include <limits.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    pthread_mutex_lock(&lock);
    sum++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void run(const pthread_attr_t *attributes)
{
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        OK(pthread_create(&id, attributes, adder, NULL));
        OK(pthread_join(id, NULL));
    }
}

int main(void)
{
    pthread_attr_t minimal, own;
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    OK(pthread_attr_init(&minimal));
    OK(pthread_attr_setstacksize(&minimal, least));
    run(&minimal);

    void *stack = mmap(NULL, least, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED);
    OK(pthread_attr_init(&own));
    OK(pthread_attr_setstack(&own, stack, least));
    run(&own);
    OK(munmap(stack, least));
    CHECK(sum == 40);
    puts("ok");
    return 0;
}
