// A function that the specification calls non-atomic is not blamed, and its caller is a base.
// specification: nonatomic:update
#include "shared_value.h"

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
