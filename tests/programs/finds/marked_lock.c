// A lock of the program's own making, which no hook sees, described by marks.
// finds: update strong after
#include "../check.h"
#include "avmon.h"
#include <sched.h>

static int lock;
static int value;

static int exchange(int *place, int next)
{
    __asm__ volatile("xchgl %0, %1" : "+r"(next), "+m"(*place) : : "memory");
    return next;
}

static void take(void)
{
    while (exchange(&lock, 1))
        sched_yield();
    AVMON_LOCK_ACQUIRED(&lock);
}

static void give(void)
{
    AVMON_LOCK_RELEASING(&lock);
    exchange(&lock, 0);
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
