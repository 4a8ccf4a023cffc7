// The culprit came before the block: real only if the block takes the same path when it is first, so it does not count.
// finds: update conditional before
#include "shared_value.h"

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static void reset(void) { set(100); /* culprit */ }

#define BLOCK update
#define CULPRIT reset
#define BLOCK_AT_MS 60
#define CULPRIT_AT_MS 0
#include "two_threads.h"
