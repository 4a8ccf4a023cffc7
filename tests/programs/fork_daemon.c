// The classical double fork with setsid; the grandchild starts threads and answers through a pipe.
#include "check.h"
#include <sys/wait.h>

static void *answer(void *fd)
{
    CHECK(write(*(int *)fd, "alive", 6) == 6);
    return NULL;
}

int main(void)
{
    int fds[2];
    char text[6];
    OK(pipe(fds));
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        CHECK(setsid() > 0);
        if (fork() > 0)
            _exit(0);
        pthread_t id;
        OK(pthread_create(&id, NULL, answer, &fds[1]));
        OK(pthread_join(id, NULL));
        exit(0);
    }
    close(fds[1]);
    CHECK(waitpid(pid, NULL, 0) == pid);
    CHECK(read(fds[0], text, sizeof text) == sizeof text);
    CHECK(read(fds[0], text, 1) == 0);
    puts(text);
    return 0;
}
