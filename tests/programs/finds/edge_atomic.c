// A release store and an acquire load of a C11 atomic.
#include "shared_value.h"
#include <stdatomic.h>

static atomic_int open;

static void await(void)
{
    while (!atomic_load_explicit(&open, memory_order_acquire))
        sleep_ms(1);
}

#define RELEASE() atomic_store_explicit(&open, 1, memory_order_release)
#define AWAIT() await()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
