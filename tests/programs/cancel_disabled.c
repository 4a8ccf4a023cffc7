// A disabled cancellation stays pending, also across locks and waits, until it is enabled.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;

static void *worker(void *survived)
{
    int state;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
    CHECK(state == PTHREAD_CANCEL_ENABLE);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&ready);
    pthread_testcancel();
    OK(pthread_mutex_lock(&lock));
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    RETURNS(pthread_cond_timedwait(&never, &lock, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&lock));
    *(int *)survived = 1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    pthread_testcancel();
    *(int *)survived = 2;
    return NULL;
}

int main(void)
{
    pthread_t id;
    void *value;
    int survived = 0;
    OK(pthread_barrier_init(&ready, NULL, 2));
    OK(pthread_create(&id, NULL, worker, &survived));
    pthread_barrier_wait(&ready);
    OK(pthread_cancel(id));
    pthread_barrier_wait(&ready);
    OK(pthread_join(id, &value));
    CHECK(value == PTHREAD_CANCELED && survived == 1);
    puts("ok");
    return 0;
}
