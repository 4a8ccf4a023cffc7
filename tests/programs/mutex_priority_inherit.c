// A priority-inheritance mutex, contended.
#include "check.h"

static pthread_mutex_t lock;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_t ids[3];
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    OK(pthread_mutex_init(&lock, &attributes));
    for (int i = 0; i < 3; i++)
        OK(pthread_create(&ids[i], NULL, adder, NULL));
    for (int i = 0; i < 3; i++)
        OK(pthread_join(ids[i], NULL));
    CHECK(sum == 6000);
    puts("ok");
    return 0;
}
