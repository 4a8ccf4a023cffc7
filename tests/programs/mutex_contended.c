// Eight threads, one lock, and a counter that must come out exact.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 50000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t ids[8];
    for (int i = 0; i < 8; i++)
        OK(pthread_create(&ids[i], NULL, adder, NULL));
    for (int i = 0; i < 8; i++)
        OK(pthread_join(ids[i], NULL));
    printf("%ld\n", sum);
    return 0;
}
