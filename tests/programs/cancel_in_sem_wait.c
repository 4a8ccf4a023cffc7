// Cancellation inside sem_wait and sem_timedwait does not consume a post.
#include "check.h"
#include <semaphore.h>

static sem_t sem;

static void *waiter(void *timed)
{
    struct timespec late = from_now(CLOCK_REALTIME, 100000);
    if (timed)
        sem_timedwait(&sem, &late);
    else
        sem_wait(&sem);
    CHECK(!"woken");
    return NULL;
}

int main(void)
{
    int value;
    OK(sem_init(&sem, 0, 0));
    for (intptr_t i = 0; i < 20; i++) {
        pthread_t id;
        void *result;
        OK(pthread_create(&id, NULL, waiter, (void *)(i % 2)));
        sleep_ms(2);
        OK(pthread_cancel(id));
        OK(pthread_join(id, &result));
        CHECK(result == PTHREAD_CANCELED);
    }
    OK(sem_post(&sem));
    OK(sem_getvalue(&sem, &value));
    CHECK(value == 1);
    OK(sem_wait(&sem));
    puts("ok");
    return 0;
}
