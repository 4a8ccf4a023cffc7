// posix_spawn and posix_spawnp with actions and attributes from a threaded process.
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
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

static int code_of(pid_t pid)
{
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    pthread_t id;
    pid_t pid;
    char text[64] = "";
    int fds[2];
    char *args[] = {"sh", "-c", "echo \"$GREETING\"; exit 33", NULL};
    char *env[] = {"GREETING=hello", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    OK(pthread_create(&id, NULL, noise, NULL));
    OK(pipe(fds));
    OK(posix_spawn_file_actions_init(&actions));
    OK(posix_spawn_file_actions_adddup2(&actions, fds[1], 1));
    OK(posix_spawnattr_init(&attributes));
    sigemptyset(&none);
    OK(posix_spawnattr_setsigmask(&attributes, &none));
    OK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK));
    OK(posix_spawn(&pid, "/bin/sh", &actions, &attributes, args, env));
    CHECK(code_of(pid) == 33);
    CHECK(read(fds[0], text, sizeof text) == 6 && strcmp(text, "hello\n") == 0);
    OK(posix_spawnp(&pid, "true", NULL, NULL, (char *[]){"true", NULL}, environ));
    CHECK(code_of(pid) == 0);
    stop = 1;
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
