// A lock of the program's own making, described by marks.
// finds: update strong after
#include "../check.h"
#include "avmon.h"
#include <sched.h>
#include <stdatomic.h>

static atomic_flag lock = ATOMIC_FLAG_INIT;
static int value;

static void take(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        sched_yield();
    AVMON_LOCK_ACQUIRED(&lock);
}

static void give(void)
{
    AVMON_LOCK_RELEASING(&lock);
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static int get(void)
{
    take();
    int seen = value;
    give();
    return seen;
}

static void set(int next)
{
    take();
    value = next;
    give();
}

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static void reset(void) { set(100); /* culprit */ }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
