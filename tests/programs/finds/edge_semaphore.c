// The culprit waits for a semaphore.
#include "shared_value.h"
#include <semaphore.h>

static sem_t sem;
__attribute__((constructor)) static void init(void) { OK(sem_init(&sem, 0, 0)); }

#define RELEASE() OK(sem_post(&sem))
#define AWAIT() OK(sem_wait(&sem))
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
