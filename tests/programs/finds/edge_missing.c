// The frame of the tests of edges, without one: the finding is there.
// finds: update strong after
#include "shared_value.h"

#define RELEASE() (void)0
#define AWAIT() sleep_ms(100)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
