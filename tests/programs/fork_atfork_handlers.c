// The program's own pthread_atfork handlers lock and unlock around each fork.
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int prepared, in_parent, in_child;
static volatile int stop;

static void prepare(void)
{
    OK(pthread_mutex_lock(&lock));
    prepared++;
}

static void parent(void)
{
    in_parent++;
    OK(pthread_mutex_unlock(&lock));
}

static void child(void)
{
    in_child++;
    OK(pthread_mutex_unlock(&lock));
}

static void *noise(void *unused)
{
    while (!stop) {
        OK(pthread_mutex_lock(&lock));
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_atfork(prepare, parent, child));
    OK(pthread_create(&id, NULL, noise, NULL));
    for (int i = 1; i <= 20; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            OK(pthread_mutex_trylock(&lock));
            _exit(in_child == 1 && prepared == i ? 0 : 1);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    }
    stop = 1;
    OK(pthread_join(id, NULL));
    CHECK(prepared == 20 && in_parent == 20 && in_child == 0);
    puts("ok");
    return 0;
}
