// tcmalloc preloaded together with the monitor.
// flags: -D_GNU_SOURCE
// libs: -ldl
// preload: libtcmalloc.so.4
// needs: libtcmalloc-minimal4 libgoogle-perftools4
#define SYMBOL "tc_malloc"
#include "allocator_load.h"
