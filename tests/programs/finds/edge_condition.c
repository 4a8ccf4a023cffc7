// The culprit waits for a condition under another lock.
#include "shared_value.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int open;

static void release(void)
{
    OK(pthread_mutex_lock(&gate));
    open = 1;
    OK(pthread_cond_broadcast(&opened));
    OK(pthread_mutex_unlock(&gate));
}

static void await(void)
{
    OK(pthread_mutex_lock(&gate));
    while (!open)
        OK(pthread_cond_wait(&opened, &gate));
    OK(pthread_mutex_unlock(&gate));
}

#define RELEASE() release()
#define AWAIT() await()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
