// The same with a culprit that also holds the outer lock: it can never come between.
// variants: plain instrumented clang
#include "shared_value.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;

static void update(void)
{
    OK(pthread_mutex_lock(&outer));
    int seen = get();
    set(seen + 1);
    OK(pthread_mutex_unlock(&outer));
}

static void reset(void)
{
    OK(pthread_mutex_lock(&outer));
    set(100);
    OK(pthread_mutex_unlock(&outer));
}

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
