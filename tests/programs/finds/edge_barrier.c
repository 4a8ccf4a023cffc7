// Both meet at a barrier.
#include "shared_value.h"

static pthread_barrier_t barrier;
__attribute__((constructor)) static void init(void) { OK(pthread_barrier_init(&barrier, NULL, 2)); }

#define RELEASE() pthread_barrier_wait(&barrier)
#define AWAIT() pthread_barrier_wait(&barrier)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
