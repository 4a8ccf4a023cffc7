// The culprit reads the end of a pipe that the block's thread closes.
#include "shared_value.h"

static int ends[2];
__attribute__((constructor)) static void init(void) { OK(pipe(ends)); }

#define RELEASE() OK(close(ends[1]))
#define AWAIT() CHECK(read(ends[0], &(char){0}, 1) == 0)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
