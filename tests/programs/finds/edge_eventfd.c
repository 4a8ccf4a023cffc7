// The culprit reads an event descriptor that the block's thread adds to.
#include "shared_value.h"
#include <sys/eventfd.h>

static int event;
__attribute__((constructor)) static void init(void) { event = eventfd(0, EFD_CLOEXEC); }

#define RELEASE() OK(eventfd_write(event, 1))
#define AWAIT() OK(eventfd_read(event, &(eventfd_t){0}))
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
