// A signal handler makes many events at any moment, also while threads are being created and joined.
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

static sem_t semaphores[2];

static void post_often(int signal)
{
    for (int i = 0; i < 1500; i++)
        sem_post(&semaphores[i & 1]);
    (void)signal;
}

static void *nothing(void *unused) { return unused; }

int main(void)
{
    struct sigaction action = {.sa_handler = post_often, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    OK(sem_init(&semaphores[0], 0, 0));
    OK(sem_init(&semaphores[1], 0, 0));
    OK(sigaction(SIGALRM, &action, NULL));
    OK(setitimer(ITIMER_REAL, &often, NULL));
    for (int i = 0; i < 5000; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, nothing, NULL));
        OK(pthread_join(id, NULL));
    }
    OK(setitimer(ITIMER_REAL, &never, NULL));
    puts("ok");
    return 0;
}
