// The culprit really comes inside the block.
// finds: update strong in
#include "shared_value.h"

static void update(void)
{
    int seen = get(); /* first */
    sleep_ms(120);
    set(seen + 1); /* second */
}

static void reset(void) { set(100); /* culprit */ }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
