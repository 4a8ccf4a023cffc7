// A recursive lock that is let go in between is no better than any other.
// flags: -D_GNU_SOURCE
// finds: update strong after
#include "../check.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int value;

static int get(void)
{
    OK(pthread_mutex_lock(&lock));
    int seen = value;
    OK(pthread_mutex_unlock(&lock));
    return seen;
}

static void set(int next)
{
    OK(pthread_mutex_lock(&lock));
    value = next;
    OK(pthread_mutex_unlock(&lock));
}

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
