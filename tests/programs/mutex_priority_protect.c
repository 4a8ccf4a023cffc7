// A priority-protect mutex: locking may need a privilege, so every code is printed and compared with the run alone.
#include "check.h"

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t lock;
    int ceiling = -1, old = -1;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT));
    OK(pthread_mutexattr_setprioceiling(&attributes, 10));
    OK(pthread_mutex_init(&lock, &attributes));
    OK(pthread_mutex_getprioceiling(&lock, &ceiling));
    // Not all kernels and containers let a thread raise its priority.
    int locked = pthread_mutex_lock(&lock);
    printf("ceiling %d, lock %d\n", ceiling, locked);
    if (locked == 0) {
        RETURNS(pthread_mutex_trylock(&lock), EBUSY);
        OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_setprioceiling(&lock, 11, &old));
        CHECK(old == 10);
    }
    return 0;
}
