// The culprit comes after a join of the block's thread.
#include "shared_value.h"

#define RELEASE() (void)0
#define AWAIT() OK(pthread_join(block_id, NULL))
#define AFTERWARDS() (void)0
#include "edge.h"
