// A suppression hides the finding and keeps the exit code.
// suppressions: # known, and nobody minds
// suppressions: atomicity:update
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
