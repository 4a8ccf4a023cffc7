// One critical section: nothing to find.
#include "shared_value.h"

static void update(void)
{
    OK(pthread_mutex_lock(&lock));
    value++;
    OK(pthread_mutex_unlock(&lock));
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
