// As atom002, but the log is said to be closed only once its number is settled: no order can split the rotation.
#include "two_threads.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long file_number;
static long is_closed;
/* Only the writer needs it. */
long writes_to;

static void first(void)
{
    pthread_mutex_lock(&lock);
    long next = file_number + 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    file_number = next;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    is_closed = 1;
    pthread_mutex_unlock(&lock);
}

static void second(void)
{
    pthread_mutex_lock(&lock);
    long must_open = is_closed;
    pthread_mutex_unlock(&lock);
    if (must_open) {
        pthread_mutex_lock(&lock);
        long number = ++file_number;
        pthread_mutex_unlock(&lock);
        writes_to = number;
    }
}
