// Two calls of the same function are two transactions: their caller is blamed, never the function itself.
// finds: caller strong after
#include "shared_value.h"

static void callee(void) { set(1); }

static void caller(void)
{
    callee(); /* first */
    callee(); /* second */
}

static void other(void) { set(2); }

#define BLOCK caller
#define CULPRIT other
#include "two_threads.h"
