// A value that is read and written under one lock, in two critical sections of `update`.
#include "../check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

// Not every program uses both.
__attribute__((unused)) static int get(void)
{
    OK(pthread_mutex_lock(&lock));
    int seen = value;
    OK(pthread_mutex_unlock(&lock));
    return seen;
}

__attribute__((unused)) static void set(int next)
{
    OK(pthread_mutex_lock(&lock));
    value = next;
    OK(pthread_mutex_unlock(&lock));
}
