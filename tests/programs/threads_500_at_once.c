// 500 threads alive at the same time, all inside one barrier.
#include "check.h"

enum { COUNT = 500 };
static pthread_barrier_t all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int serial;

static void *thread(void *unused)
{
    int code = pthread_barrier_wait(&all);
    CHECK(code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_mutex_lock(&lock));
    serial += code == PTHREAD_BARRIER_SERIAL_THREAD;
    OK(pthread_mutex_unlock(&lock));
    return unused;
}

int main(void)
{
    static pthread_t ids[COUNT];
    pthread_attr_t small;
    OK(pthread_attr_init(&small));
    OK(pthread_attr_setstacksize(&small, 65536));
    OK(pthread_barrier_init(&all, NULL, COUNT));
    for (int i = 0; i < COUNT; i++)
        OK(pthread_create(&ids[i], &small, thread, NULL));
    for (int i = 0; i < COUNT; i++)
        OK(pthread_join(ids[i], NULL));
    CHECK(serial == 1);
    puts("ok");
    return 0;
}
