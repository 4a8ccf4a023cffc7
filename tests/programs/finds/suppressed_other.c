// A suppression for another function hides nothing.
// suppressions: atomicity:unrelated
// finds: update strong after
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
