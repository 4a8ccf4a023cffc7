// exec of nothing fails, and the threaded program goes on.
#include "check.h"
#include <spawn.h>

extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *locker(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        OK(pthread_mutex_lock(&lock));
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    char *args[] = {"/nonexistent/program", NULL};
    pthread_t thread;
    pid_t pid;
    OK(pthread_create(&thread, NULL, locker, NULL));
    FAILS(execv(args[0], args), ENOENT);
    FAILS(execve(args[0], args, environ), ENOENT);
    FAILS(execvp("nonexistent-program-name", args), ENOENT);
    FAILS(execl("/", "/", (char *)NULL), EACCES);
    FAILS(execle("/", "/", (char *)NULL, environ), EACCES);
    FAILS(execlp("nonexistent-program-name", "x", (char *)NULL), ENOENT);
    RETURNS(posix_spawn(&pid, args[0], NULL, NULL, args, environ), ENOENT);
    RETURNS(posix_spawnp(&pid, "nonexistent-program-name", NULL, NULL, args, environ), ENOENT);
    OK(pthread_join(thread, NULL));
    OK(pthread_create(&thread, NULL, locker, NULL));
    OK(pthread_join(thread, NULL));
    puts("still here");
    return 0;
}
