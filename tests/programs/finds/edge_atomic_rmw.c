// A fetch-and-add and a compare-and-swap.
#include "shared_value.h"
#include <stdatomic.h>

static atomic_long open;

static void await(void)
{
    long expected = 1;
    while (!atomic_compare_exchange_strong(&open, &expected, 2)) {
        expected = 1;
        sleep_ms(1);
    }
}

#define RELEASE() atomic_fetch_add_explicit(&open, 1, memory_order_acq_rel)
#define AWAIT() await()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
