// A volatile flag, as old code has it.
#include "shared_value.h"

static volatile int open;

static void await(void)
{
    while (!open)
        sleep_ms(1);
}

#define RELEASE() (open = 1)
#define AWAIT() await()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
