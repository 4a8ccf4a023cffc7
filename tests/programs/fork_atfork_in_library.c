// A library that is initialised before the monitor registers fork handlers with many locks, as jemalloc does.
// shared: linked
#include "check.h"

enum { COUNT = 100000 };
extern pthread_mutex_t locks[COUNT];

#ifdef SHARED
pthread_mutex_t locks[COUNT];

static void lock_all(void)
{
    for (int i = 0; i < COUNT; i++)
        OK(pthread_mutex_lock(&locks[i]));
}

static void unlock_all(void)
{
    for (int i = 0; i < COUNT; i++)
        OK(pthread_mutex_unlock(&locks[i]));
}

static void init_all(void)
{
    for (int i = 0; i < COUNT; i++)
        OK(pthread_mutex_init(&locks[i], NULL));
}

__attribute__((constructor)) static void loaded(void)
{
    init_all();
    OK(pthread_atfork(lock_all, unlock_all, init_all));
}
#else
#include <sys/wait.h>

static void *idle(void *unused)
{
    pause();
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, idle, NULL));
    for (int i = 0; i < 3; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            OK(pthread_mutex_lock(&locks[i]));
            _exit(40 + i);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 40 + i);
    }
    puts("ok");
    return 0;
}
#endif
