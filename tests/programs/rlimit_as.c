// Little address space is left, first a lot and then next to none: the monitor does without, the program goes on.
#include "check.h"
#include <sys/resource.h>

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

static rlim_t in_use(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
    // Two stacks and a heap for two threads, and little more.
    pthread_attr_t small;
    pthread_t a, b;
    OK(pthread_attr_init(&small));
    OK(pthread_attr_setstacksize(&small, 256 << 10));
    OK(pthread_create(&a, &small, adder, NULL));
    OK(pthread_join(a, NULL));
    struct rlimit limit = {in_use() + (4 << 20), RLIM_INFINITY};
    OK(setrlimit(RLIMIT_AS, &limit));
    for (int i = 0; i < 20; i++) {
        OK(pthread_create(&a, &small, adder, NULL));
        OK(pthread_create(&b, &small, adder, NULL));
        OK(pthread_join(a, NULL));
        OK(pthread_join(b, NULL));
    }
    printf("%d\n", sum);
    return 0;
}
