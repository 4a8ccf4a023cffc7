// C11 threads: create, join with result, exit, detach, equal, sleep, yield.
#include "check.h"
#include <threads.h>

static thrd_t creator;

static int returns(void *value)
{
    CHECK(!thrd_equal(thrd_current(), creator));
    return (int)(intptr_t)value;
}

static int exits(void *value)
{
    thrd_yield();
    thrd_exit((int)(intptr_t)value + 100);
}

int main(void)
{
    creator = thrd_current();
    for (intptr_t i = 0; i < 20; i++) {
        thrd_t a, b, c;
        int result;
        RETURNS(thrd_create(&a, returns, (void *)i), thrd_success);
        RETURNS(thrd_create(&b, exits, (void *)i), thrd_success);
        RETURNS(thrd_create(&c, returns, (void *)i), thrd_success);
        RETURNS(thrd_detach(c), thrd_success);
        RETURNS(thrd_join(a, &result), thrd_success);
        CHECK(result == i);
        RETURNS(thrd_join(b, &result), thrd_success);
        CHECK(result == i + 100);
    }
    OK(thrd_sleep(&(struct timespec){0, 1000000}, NULL));
    puts("ok");
    return 0;
}
