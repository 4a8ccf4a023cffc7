// A handler interrupts sem_wait and sem_timedwait with EINTR; the post inside another handler is not lost.
#include "check.h"
#include <semaphore.h>
#include <signal.h>

static sem_t sem, ready;

static void interrupt(int unused) { (void)unused; }
static void post(int unused)
{
    (void)unused;
    OK(sem_post(&sem));
}

static void *waiter(void *unused)
{
    struct timespec late = from_now(CLOCK_REALTIME, 100000);
    OK(sem_post(&ready));
    FAILS(sem_wait(&sem), EINTR);
    OK(sem_post(&ready));
    FAILS(sem_timedwait(&sem, &late), EINTR);
    OK(sem_post(&ready));
    while (sem_wait(&sem) == -1)
        CHECK(errno == EINTR);
    return unused;
}

int main(void)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = interrupt};
    OK(sem_init(&sem, 0, 0));
    OK(sem_init(&ready, 0, 0));
    OK(sigaction(SIGUSR1, &action, NULL));
    action.sa_handler = post;
    OK(sigaction(SIGUSR2, &action, NULL));
    OK(pthread_create(&id, NULL, waiter, NULL));
    for (int i = 0; i < 2; i++) {
        OK(sem_wait(&ready));
        // Again and again, in case a signal comes before the wait has begun, until the waiter has moved on.
        int value = 0;
        while (value == 0) {
            sleep_ms(20);
            OK(pthread_kill(id, SIGUSR1));
            sleep_ms(20);
            OK(sem_getvalue(&ready, &value));
        }
    }
    OK(sem_wait(&ready));
    OK(pthread_kill(id, SIGUSR2));
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
