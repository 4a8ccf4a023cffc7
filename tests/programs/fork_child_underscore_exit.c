// Hundreds of quick children that only _exit, while threads of the parent lock.
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;

static void *noise(void *unused)
{
    while (!stop) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, noise, NULL));
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(i % 100);
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i % 100);
    }
    stop = 1;
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
