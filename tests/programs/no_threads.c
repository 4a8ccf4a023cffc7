// A program that never starts a thread but locks all the time.
// exit: 15
#include "check.h"

int main(void)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 300000; i++) {
        OK(pthread_mutex_lock(&lock));
        OK(pthread_mutex_unlock(&lock));
    }
    puts("ok");
    return 15;
}
