// vfork and exec, and vfork and _exit: the child borrows the parent's memory and stack.
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

static int status_of(const char *path)
{
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execl(path, path, "-c", "exit 31", (char *)NULL);
        _exit(32);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, noise, NULL));
    for (int i = 0; i < 10; i++) {
        CHECK(status_of("/bin/sh") == 31);
        CHECK(status_of("/nonexistent") == 32);
    }
    stop = 1;
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
