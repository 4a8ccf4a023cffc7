// C11 mutexes: plain, recursive and timed, with busy and timeout results, and an exact count.
#include "check.h"
#include <threads.h>

static mtx_t plain, recursive, timed;
static long sum;

static int adder(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000; i++) {
        RETURNS(mtx_lock(&plain), thrd_success);
        sum++;
        RETURNS(mtx_unlock(&plain), thrd_success);
    }
    return 0;
}

static int refused(void *unused)
{
    (void)unused;
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    RETURNS(mtx_trylock(&plain), thrd_busy);
    RETURNS(mtx_trylock(&recursive), thrd_busy);
    RETURNS(mtx_timedlock(&timed, &soon), thrd_timedout);
    return 0;
}

int main(void)
{
    thrd_t a, b;
    RETURNS(mtx_init(&plain, mtx_plain), thrd_success);
    RETURNS(mtx_init(&recursive, mtx_plain | mtx_recursive), thrd_success);
    RETURNS(mtx_init(&timed, mtx_timed), thrd_success);
    RETURNS(thrd_create(&a, adder, NULL), thrd_success);
    RETURNS(thrd_create(&b, adder, NULL), thrd_success);
    RETURNS(thrd_join(a, NULL), thrd_success);
    RETURNS(thrd_join(b, NULL), thrd_success);

    struct timespec late = from_now(CLOCK_REALTIME, 100000);
    RETURNS(mtx_trylock(&plain), thrd_success);
    RETURNS(mtx_lock(&recursive), thrd_success);
    RETURNS(mtx_trylock(&recursive), thrd_success);
    RETURNS(mtx_timedlock(&timed, &late), thrd_success);
    RETURNS(thrd_create(&a, refused, NULL), thrd_success);
    RETURNS(thrd_join(a, NULL), thrd_success);
    RETURNS(mtx_unlock(&plain), thrd_success);
    RETURNS(mtx_unlock(&recursive), thrd_success);
    RETURNS(mtx_unlock(&recursive), thrd_success);
    RETURNS(mtx_unlock(&timed), thrd_success);
    mtx_destroy(&plain);
    mtx_destroy(&recursive);
    mtx_destroy(&timed);
    printf("%ld\n", sum);
    return 0;
}
