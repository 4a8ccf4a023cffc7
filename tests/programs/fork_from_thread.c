// A thread forks: in the child it is the only thread, returns from its start routine, and the child ends with status 0.
#include "check.h"
#include <sys/wait.h>

static void *forker(void *unused)
{
    fflush(stdout);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        puts("in the child");
        return unused;
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    puts("in the parent");
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, forker, NULL));
    OK(pthread_join(id, NULL));
    return 0;
}
