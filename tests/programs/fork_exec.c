// fork and exec from a threaded process; the child's output and code arrive.
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
    for (int i = 0; i < 10; i++) {
        fflush(stdout);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            execl("/bin/sh", "sh", "-c", "echo from the shell; exit 30", (char *)NULL);
            _exit(1);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 30);
    }
    stop = 1;
    OK(pthread_join(id, NULL));
    return 0;
}
