// jemalloc linked into the program: its own mutexes are taken inside malloc, also while the monitor starts.
// findings: any
// flags: -D_GNU_SOURCE
// libs: -ljemalloc -ldl
// needs: libjemalloc-dev
#define SYMBOL "mallctl"
#include "allocator_load.h"
