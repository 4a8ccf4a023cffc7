// Unnamed semaphores: values, EAGAIN, EINVAL, EOVERFLOW, ETIMEDOUT on both clocks, hand-over between threads.
// flags: -D_GNU_SOURCE
#include "check.h"
#include <limits.h>
#include <semaphore.h>

static sem_t items, room;
static int slot;

static void *consumer(void *sum)
{
    for (int i = 1; i <= 200; i++) {
        OK(sem_wait(&items));
        *(int *)sum += slot;
        OK(sem_post(&room));
    }
    return NULL;
}

int main(void)
{
    int value, sum = 0;
    sem_t sem;
    pthread_t id;
    FAILS(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    OK(sem_init(&sem, 0, 1));
    OK(sem_trywait(&sem));
    FAILS(sem_trywait(&sem), EAGAIN);
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    FAILS(sem_timedwait(&sem, &soon), ETIMEDOUT);
    FAILS(sem_timedwait(&sem, &BAD_TIME), EINVAL);
    soon = from_now(CLOCK_MONOTONIC, 10);
    FAILS(sem_clockwait(&sem, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    FAILS(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    OK(sem_post(&sem));
    OK(sem_clockwait(&sem, CLOCK_MONOTONIC, &soon));
    OK(sem_post(&sem));
    FAILS(sem_timedwait(&sem, &BAD_TIME), EINVAL);
    OK(sem_wait(&sem));
    OK(sem_getvalue(&sem, &value));
    CHECK(value == 0);
    OK(sem_destroy(&sem));
    OK(sem_init(&sem, 0, SEM_VALUE_MAX));
    FAILS(sem_post(&sem), EOVERFLOW);

    OK(sem_init(&items, 0, 0));
    OK(sem_init(&room, 0, 1));
    OK(pthread_create(&id, NULL, consumer, &sum));
    for (int i = 1; i <= 200; i++) {
        OK(sem_wait(&room));
        slot = i;
        OK(sem_post(&items));
    }
    OK(pthread_join(id, NULL));
    printf("%d\n", sum);
    return 0;
}
