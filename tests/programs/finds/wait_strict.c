// With strict waits the transaction goes on behind the wait, and the wait is a window.
// options: strict_waits=1
// finds: await strong in
#include "shared_value.h"

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void await(void)
{
    OK(pthread_mutex_lock(&lock)); /* first */
    while (value == 0)
        OK(pthread_cond_wait(&changed, &lock)); /* second */
    OK(pthread_mutex_unlock(&lock));
}

static void release(void)
{
    OK(pthread_mutex_lock(&lock)); /* culprit */
    value = 1;
    OK(pthread_cond_signal(&changed));
    OK(pthread_mutex_unlock(&lock));
}

#define BLOCK await
#define CULPRIT release
#include "two_threads.h"
