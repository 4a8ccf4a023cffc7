// The culprit reads from a pipe what the block's thread writes.
#include "shared_value.h"

static int ends[2];
__attribute__((constructor)) static void init(void) { OK(pipe(ends)); }

#define RELEASE() CHECK(write(ends[1], "x", 1) == 1)
#define AWAIT() CHECK(read(ends[0], &(char){0}, 1) == 1)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
