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
    OK(sem_init(&semaphores[0], 0, 0));
    OK(sem_init(&semaphores[1], 0, 0));
    OK(sigaction(SIGALRM, &action, NULL));
    for (int i = 0; i < 2000; i++) {
        // Once for each thread, at another moment of its life.
        struct itimerval soon = {{0, 0}, {0, 1 + i % 100}};
        pthread_t id;
        OK(setitimer(ITIMER_REAL, &soon, NULL));
        OK(pthread_create(&id, NULL, nothing, NULL));
        OK(pthread_join(id, NULL));
    }
    puts("ok");
    return 0;
}
