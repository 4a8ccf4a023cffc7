// Rounds that begin for all threads at once by a broadcast, and end when the last has counted itself out.
// reads: 2000
#include "../stress.h"

enum { ROUNDS = 60 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static int current_round, left;
static long parts[THREADS], total;

static void wait_for(int wanted)
{
    OK(pthread_mutex_lock(&lock));
    while (current_round < wanted)
        OK(pthread_cond_wait(&begun, &lock));
    OK(pthread_mutex_unlock(&lock));
}

static void count_out(void)
{
    OK(pthread_mutex_lock(&lock));
    if (--left == 0)
        OK(pthread_cond_signal(&ended));
    OK(pthread_mutex_unlock(&lock));
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number;
    for (int wanted = 1; wanted <= ROUNDS; wanted++) {
        wait_for(wanted);
        parts[self] = total + self + wanted;
        count_out();
    }
    return NULL;
}

static void *lead(void *number)
{
    for (int i = 0; i < ROUNDS; i++) {
        OK(pthread_mutex_lock(&lock));
        left = THREADS;
        current_round++;
        OK(pthread_cond_broadcast(&begun));
        while (left > 0)
            OK(pthread_cond_wait(&ended, &lock));
        OK(pthread_mutex_unlock(&lock));
        for (int j = 0; j < THREADS; j++)
            total = (total + parts[j]) % 1000003;
    }
    return number;
}

static void *work_or_lead(void *number)
{
    return (intptr_t)number < THREADS ? work(number) : lead(number);
}

int main(void)
{
    run_threads(THREADS + 1, work_or_lead);
    CHECK(current_round == ROUNDS && left == 0);
    return 0;
}
