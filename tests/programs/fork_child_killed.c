// The child of a threaded process is killed by a signal, or aborts; the parent sees exactly that.
#include "check.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void *idle(void *unused)
{
    pause();
    return unused;
}

static int status_of_child(int signal)
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        pthread_t id;
        OK(pthread_create(&id, NULL, idle, NULL));
        if (signal == SIGABRT)
            abort();
        raise(signal);
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

int main(void)
{
    pthread_t id;
    struct rlimit none = {0, 0};
    int signals[] = {SIGTERM, SIGABRT, SIGKILL, SIGSEGV, SIGUSR1};
    OK(setrlimit(RLIMIT_CORE, &none));
    OK(pthread_create(&id, NULL, idle, NULL));
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int status = status_of_child(signals[i]);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signals[i]);
    }
    puts("ok");
    return 0;
}
