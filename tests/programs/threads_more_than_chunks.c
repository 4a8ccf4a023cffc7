// More threads alive at once than the buffer has pieces, each of them with events of its own.
// options: buffer_mb=1
#include "check.h"

#define THREADS 150

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static void *wait_for_all(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    OK(pthread_mutex_unlock(&lock));
    pthread_barrier_wait(&all);
    return unused;
}

int main(void)
{
    pthread_t id[THREADS];
    pthread_attr_t small;
    OK(pthread_attr_init(&small));
    OK(pthread_attr_setstacksize(&small, 65536));
    OK(pthread_barrier_init(&all, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&id[i], &small, wait_for_all, NULL));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(id[i], NULL));
    puts("ok");
    return 0;
}
