// The same place on two turns of a loop: a weak finding, which does not count.
// finds: visit_all loop
#include "shared_value.h"

static void visit_all(void)
{
    for (int i = 0; i < 3; i++)
        set(i);
}

static void other(void) { set(9); }

#define BLOCK visit_all
#define CULPRIT other
#include "two_threads.h"
