// A recursion a hundred thousand calls deep, with a lock at the bottom and on the way back.
// findings: any
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void touch(void)
{
    OK(pthread_mutex_lock(&lock));
    sum++;
    OK(pthread_mutex_unlock(&lock));
}

static int recurse(int depth);
static int (*volatile recurse_again)(int) = recurse;

static int recurse(int depth)
{
    if (depth == 0) {
        touch();
        return 0;
    }
    int below = recurse_again(depth - 1);
    if (depth % 1000 == 0)
        touch();
    return below + 1;
}

static void *thread(void *unused)
{
    CHECK(recurse(100000) == 100000);
    return unused;
}

int main(void)
{
    pthread_attr_t large;
    pthread_t ids[2];
    OK(pthread_attr_init(&large));
    OK(pthread_attr_setstacksize(&large, 64 << 20));
    for (int i = 0; i < 2; i++)
        OK(pthread_create(&ids[i], &large, thread, NULL));
    for (int i = 0; i < 2; i++)
        OK(pthread_join(ids[i], NULL));
    CHECK(sum == 202);
    puts("ok");
    return 0;
}
