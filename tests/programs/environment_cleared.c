// The program empties its environment and goes on to create threads and start programs.
// flags: -D_DEFAULT_SOURCE
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
    run_two();
    OK(clearenv());
    run_two();
    printf("%d\n", sum);
    fflush(stdout);
    CHECK(system("echo without environment") == 0);
    return 0;
}
