// jemalloc preloaded together with the monitor. What is found is in jemalloc itself, in some runs.
// findings: any
// flags: -D_GNU_SOURCE
// libs: -ldl
// preload: libjemalloc.so.2
// needs: libjemalloc2
#define SYMBOL "mallctl"
#include "allocator_load.h"
