// The culprit polls a semaphore.
#include "shared_value.h"
#include <semaphore.h>

static sem_t sem;
__attribute__((constructor)) static void init(void) { OK(sem_init(&sem, 0, 0)); }

static void poll_it(void)
{
    while (sem_trywait(&sem) == -1)
        sleep_ms(5);
}

#define RELEASE() OK(sem_post(&sem))
#define AWAIT() poll_it()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
