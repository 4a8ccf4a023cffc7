// fork without exec from a threaded process: the child locks, creates threads, and ends with its own code.
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t busy = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static int sum;

static void *noise(void *unused)
{
    while (!stop) {
        pthread_mutex_lock(&busy);
        pthread_mutex_unlock(&busy);
    }
    return unused;
}

static void *adder(void *unused)
{
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

static void run_two(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, noise, NULL));
    for (int i = 0; i < 10; i++) {
        fflush(stdout);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            run_two();
            printf("child %d counted %d\n", i, sum);
            exit(20 + i);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 20 + i);
    }
    stop = 1;
    OK(pthread_join(id, NULL));
    run_two();
    printf("parent counted %d\n", sum);
    return 0;
}
