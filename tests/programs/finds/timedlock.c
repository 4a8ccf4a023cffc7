// Acquires with a time limit are acquires like any other.
// flags: -D_GNU_SOURCE
// finds: update strong after
#include "shared_value.h"

static void update(void)
{
    struct timespec late = from_now(CLOCK_REALTIME, 50000);
    OK(pthread_mutex_timedlock(&lock, &late)); /* first */
    int seen = value;
    OK(pthread_mutex_unlock(&lock));
    late = from_now(CLOCK_MONOTONIC, 50000);
    OK(pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &late)); /* second */
    value = seen + 1;
    OK(pthread_mutex_unlock(&lock));
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
