// destroy of a locked mutex is EBUSY; a destroyed one can be initialised again in the same place, with another type.
#include "check.h"

int main(void)
{
    pthread_mutex_t lock;
    pthread_mutexattr_t recursive;
    OK(pthread_mutexattr_init(&recursive));
    OK(pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE));
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_init(&lock, i % 2 ? &recursive : NULL));
        OK(pthread_mutex_lock(&lock));
        RETURNS(pthread_mutex_trylock(&lock), i % 2 ? 0 : EBUSY);
        RETURNS(pthread_mutex_destroy(&lock), EBUSY);
        OK(pthread_mutex_unlock(&lock));
        if (i % 2)
            OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_destroy(&lock));
    }
    puts("ok");
    return 0;
}
