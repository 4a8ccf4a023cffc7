// A program's own lock functions, one calling the other, are not where the culprit is.
// finds: update strong after
// culprit: reset
#include "../check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void checked_lock(pthread_mutex_t *mutex) { OK(pthread_mutex_lock(mutex)); }
static void enter(void) { checked_lock(&lock); }
static void leave(void) { OK(pthread_mutex_unlock(&lock)); }

static void update(void)
{
    enter(); /* first */
    int seen = value;
    leave();
    enter(); /* second */
    value = seen + 1;
    leave();
}

static void reset(void)
{
    enter(); /* culprit */
    value = 100;
    leave();
}

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
