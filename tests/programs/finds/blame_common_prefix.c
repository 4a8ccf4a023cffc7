// Figure 9 of the SideTrack paper: c and d are atomic, a and b are not; b is blamed, a is listed with it.
// finds: b strong after
// also: a
#include "shared_value.h"

static void d(void) { set(1); }
static void c(void) { d(); }

static void b(void)
{
    d(); /* first */
    c(); /* second */
}

static void a(void) { b(); }
static void other(void) { d(); }

#define BLOCK a
#define CULPRIT other
#include "two_threads.h"
