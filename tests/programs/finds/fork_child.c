// A forked child is monitored too, with a log and an exit code of its own.
// finds: update strong after
#include "shared_value.h"
#include <sys/wait.h>

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void reset(void) { set(100); }

static void *work(void *unused)
{
    update();
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    reset();
    return unused;
}

int main(void)
{
    int status;
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid > 0) {
        CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
        return WEXITSTATUS(status);
    }
    pthread_t a, b;
    OK(pthread_create(&a, NULL, work, NULL));
    OK(pthread_create(&b, NULL, other, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    return 0;
}
