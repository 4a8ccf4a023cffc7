// Code that no compiler hook sees: an inner lock taken twice inside one outer critical section.
// variants: plain
// finds: update strong after
#include "shared_value.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;

static void update(void)
{
    OK(pthread_mutex_lock(&outer));
    int seen = get();
    set(seen + 1);
    OK(pthread_mutex_unlock(&outer));
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
