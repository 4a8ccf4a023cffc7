// The culprit comes after a successful tryjoin.
// flags: -D_GNU_SOURCE
#include "shared_value.h"

#define RELEASE() (void)0
#define AWAIT()                                                                                           \
    do                                                                                                    \
        sleep_ms(5);                                                                                      \
    while (pthread_tryjoin_np(block_id, NULL) == EBUSY)
#define AFTERWARDS() (void)0
#include "edge.h"
