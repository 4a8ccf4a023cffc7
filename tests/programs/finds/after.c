// The culprit came after the block in this run, but could have come inside.
// finds: update strong after
#include "shared_value.h"

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static void reset(void) { set(100); /* culprit */ }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
