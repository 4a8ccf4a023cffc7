// Function calls are no transactions when the option says so.
// options: functions=0
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
