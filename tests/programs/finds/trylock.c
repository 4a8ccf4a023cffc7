// A successful trylock is an acquire like any other.
// finds: update strong after
#include "shared_value.h"

static void update(void)
{
    int seen = get(); /* first */
    OK(pthread_mutex_trylock(&lock)); /* second */
    value = seen + 1;
    OK(pthread_mutex_unlock(&lock));
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
