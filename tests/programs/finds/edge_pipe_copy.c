// The culprit reads from a copy of a pipe what the block's thread writes.
#include "shared_value.h"
#include <fcntl.h>

static int ends[2], copy;
__attribute__((constructor)) static void init(void) { OK(pipe2(ends, O_CLOEXEC)); copy = dup(ends[0]); }

#define RELEASE() CHECK(write(ends[1], "x", 1) == 1)
#define AWAIT() CHECK(read(copy, &(char){0}, 1) == 1)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
