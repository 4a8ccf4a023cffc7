// Spin locks: exact count, EBUSY, process-shared ones too.
#include "check.h"

static pthread_spinlock_t lock;
static long sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        OK(pthread_spin_lock(&lock));
        sum++;
        OK(pthread_spin_unlock(&lock));
    }
    return unused;
}

static void *refused(void *unused)
{
    RETURNS(pthread_spin_trylock(&lock), EBUSY);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_SHARED));
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    OK(pthread_spin_trylock(&lock));
    OK(pthread_create(&a, NULL, refused, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_spin_unlock(&lock));
    OK(pthread_spin_destroy(&lock));
    printf("%ld\n", sum);
    return 0;
}
