// jemalloc preloaded together with the monitor.
// flags: -D_GNU_SOURCE
// libs: -ldl
// preload: libjemalloc.so.2
// needs: libjemalloc2
#define SYMBOL "mallctl"
#include "allocator_load.h"
