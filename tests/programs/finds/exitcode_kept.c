// The exit code for findings can be chosen away; the finding stays.
// options: exitcode=0
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
