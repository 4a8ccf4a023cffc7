// A window between a FIRST and a SECOND acquire of a reader-writer lock, and a BETWEEN acquire by another thread.
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void update(void)
{
    OK(FIRST(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(SECOND(&lock));
    OK(pthread_rwlock_unlock(&lock));
}

static void other(void)
{
    OK(BETWEEN(&lock));
    OK(pthread_rwlock_unlock(&lock));
}

#define BLOCK update
#define CULPRIT other
#include "two_threads.h"
