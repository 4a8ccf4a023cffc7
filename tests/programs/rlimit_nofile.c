// No descriptor is left: the program expects exactly the numbers that it would get alone.
#include "check.h"
#include <fcntl.h>
#include <sys/resource.h>

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
    struct rlimit limit = {16, 16};
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    int opened = 0;
    while (open("/dev/null", O_RDONLY) != -1)
        opened++;
    CHECK(errno == EMFILE);
    // 0, 1 and 2 are there; a runtime below the program may keep one for itself.
    CHECK(opened >= 12);
    run_two();
    printf("%d\n", sum);
    return 0;
}
