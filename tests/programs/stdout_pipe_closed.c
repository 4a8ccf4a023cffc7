// Writing to a pipe whose reader is gone: SIGPIPE keeps its default action.
// exit: SIGPIPE
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

static void run_two(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

int main(void)
{
    int fds[2];
    run_two();
    printf("%d\n", sum);
    fflush(stdout);
    OK(pipe(fds));
    CHECK(dup2(fds[1], 1) == 1);
    close(fds[0]);
    CHECK(write(1, "nobody reads this\n", 18) == 18);
    return 0;
}
