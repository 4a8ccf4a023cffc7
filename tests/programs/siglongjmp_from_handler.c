// siglongjmp out of a SIGSEGV handler, again and again, and locking goes on.
#include "check.h"
#include <setjmp.h>
#include <signal.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local sigjmp_buf back;
static int *volatile nowhere;

static void on_segv(int signal) { siglongjmp(back, signal); }

__attribute__((noinline)) static void crash(int depth)
{
    if (depth > 0)
        crash(depth - 1);
    *nowhere = depth;
}

static void *crasher(void *unused)
{
    for (volatile int i = 0; i < 500; i++) {
        if (sigsetjmp(back, 1) == 0) {
            crash(5);
            CHECK(!"survived a wild write");
        }
        OK(pthread_mutex_lock(&lock));
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    struct sigaction action = {.sa_handler = on_segv};
    OK(sigaction(SIGSEGV, &action, NULL));
    OK(pthread_create(&id, NULL, crasher, NULL));
    crasher(NULL);
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
