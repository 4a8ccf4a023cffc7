// The whole program starts with an address space of 64 MiB: less than the monitor would like for its buffers.
// shell: ulimit -v 65536; {run}
#include "check.h"

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

int main(void)
{
    pthread_attr_t small;
    pthread_t a, b;
    OK(pthread_attr_init(&small));
    OK(pthread_attr_setstacksize(&small, 256 << 10));
    for (int i = 0; i < 20; i++) {
        OK(pthread_create(&a, &small, adder, NULL));
        OK(pthread_create(&b, &small, adder, NULL));
        OK(pthread_join(a, NULL));
        OK(pthread_join(b, NULL));
    }
    printf("%d\n", sum);
    return 0;
}
