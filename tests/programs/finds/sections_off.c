// Critical sections are no transactions when the option says so.
// variants: plain
// options: sections=0
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
