// A mutex locked by main is unlocked by the block's thread and taken by the culprit: a signal.
#include "shared_value.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
__attribute__((constructor)) static void init(void) { OK(pthread_mutex_lock(&gate)); }

#define RELEASE() OK(pthread_mutex_unlock(&gate))
#define AWAIT() OK(pthread_mutex_lock(&gate))
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
