// Barriers: exactly one serial thread each round, nobody runs ahead, EINVAL for a count of zero.
#include "check.h"

enum { THREADS = 4, ROUNDS = 100 };
static pthread_barrier_t barrier;
static int arrived[ROUNDS], serial;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void arrive(int round)
{
    OK(pthread_mutex_lock(&lock));
    arrived[round]++;
    OK(pthread_mutex_unlock(&lock));
}

static void *thread(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        arrive(round);
        int code = pthread_barrier_wait(&barrier);
        if (code == PTHREAD_BARRIER_SERIAL_THREAD)
            __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED);
        else
            CHECK(code == 0);
        CHECK(__atomic_load_n(&arrived[round], __ATOMIC_RELAXED) == THREADS);
    }
    return unused;
}

int main(void)
{
    pthread_t ids[THREADS];
    RETURNS(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_create(&ids[i], NULL, thread, NULL));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(ids[i], NULL));
    OK(pthread_barrier_destroy(&barrier));
    CHECK(serial == ROUNDS);
    OK(pthread_barrier_init(&barrier, NULL, 1));
    RETURNS(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    puts("ok");
    return 0;
}
