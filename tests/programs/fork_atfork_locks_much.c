// A library, like an allocator, takes thousands of locks in its fork handlers; threads fork at the same time.
// shared: linked
#include "check.h"
#include <sys/wait.h>

#ifdef SHARED
#define LOCKS 2000

int the_library = 1;
static pthread_mutex_t locks[LOCKS];

static void lock_all(void)
{
    for (int i = 0; i < LOCKS; i++)
        OK(pthread_mutex_lock(&locks[i]));
}

static void unlock_all(void)
{
    for (int i = LOCKS; i-- > 0;)
        OK(pthread_mutex_unlock(&locks[i]));
}

__attribute__((constructor)) static void begin(void)
{
    for (int i = 0; i < LOCKS; i++)
        OK(pthread_mutex_init(&locks[i], NULL));
    OK(pthread_atfork(lock_all, unlock_all, unlock_all));
}
#else
extern int the_library;

static void *fork_often(void *unused)
{
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        CHECK(child != -1);
        if (child == 0)
            _exit(3);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    CHECK(the_library);
    OK(pthread_create(&id, NULL, fork_often, NULL));
    fork_often(NULL);
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
#endif
