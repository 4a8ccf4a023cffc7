// Children of _Fork and of a bare system call, in which no fork handler ran, lock often and create a thread.
// flags: -D_GNU_SOURCE
#include "check.h"
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, two = PTHREAD_MUTEX_INITIALIZER;

static void *nothing(void *unused) { return unused; }

static void run_thread(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, nothing, NULL));
    OK(pthread_join(id, NULL));
}

static void check_child(pid_t child)
{
    int status;
    CHECK(child != -1);
    if (child == 0) {
        for (int i = 0; i < 600000; i++) {
            OK(pthread_mutex_lock(&one));
            OK(pthread_mutex_unlock(&one));
            OK(pthread_mutex_lock(&two));
            OK(pthread_mutex_unlock(&two));
        }
        run_thread();
        _exit(5);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
}

int main(void)
{
    run_thread();
    check_child(_Fork());
    check_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
    puts("ok");
    return 0;
}
