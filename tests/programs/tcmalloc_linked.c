// tcmalloc linked into the program.
// flags: -D_GNU_SOURCE
// libs: -ltcmalloc -ldl
// needs: libgoogle-perftools-dev
#define SYMBOL "tc_malloc"
#include "allocator_load.h"
