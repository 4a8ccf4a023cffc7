// C11 condition variables: ping-pong by signal, broadcast to all, timeout.
#include "check.h"
#include <threads.h>

enum { THREADS = 4 };
static mtx_t lock;
static cnd_t changed, all;
static int turn, go, released;

static void take_turn(int me)
{
    RETURNS(mtx_lock(&lock), thrd_success);
    while (turn != me)
        RETURNS(cnd_wait(&changed, &lock), thrd_success);
    turn = !me;
    RETURNS(cnd_signal(&changed), thrd_success);
    RETURNS(mtx_unlock(&lock), thrd_success);
}

static void play(int me)
{
    for (int i = 0; i < 300; i++)
        take_turn(me);
}

static int player(void *unused)
{
    (void)unused;
    play(1);
    return 0;
}

static int crowd(void *unused)
{
    (void)unused;
    RETURNS(mtx_lock(&lock), thrd_success);
    while (!go)
        RETURNS(cnd_wait(&all, &lock), thrd_success);
    released++;
    RETURNS(mtx_unlock(&lock), thrd_success);
    return 0;
}

int main(void)
{
    thrd_t other, threads[THREADS];
    RETURNS(mtx_init(&lock, mtx_timed), thrd_success);
    RETURNS(cnd_init(&changed), thrd_success);
    RETURNS(cnd_init(&all), thrd_success);
    RETURNS(thrd_create(&other, player, NULL), thrd_success);
    play(0);
    RETURNS(thrd_join(other, NULL), thrd_success);

    for (int i = 0; i < THREADS; i++)
        RETURNS(thrd_create(&threads[i], crowd, NULL), thrd_success);
    RETURNS(mtx_lock(&lock), thrd_success);
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    RETURNS(cnd_timedwait(&changed, &lock, &soon), thrd_timedout);
    go = 1;
    RETURNS(cnd_broadcast(&all), thrd_success);
    RETURNS(mtx_unlock(&lock), thrd_success);
    for (int i = 0; i < THREADS; i++)
        RETURNS(thrd_join(threads[i], NULL), thrd_success);
    CHECK(released == THREADS);
    cnd_destroy(&changed);
    cnd_destroy(&all);
    puts("ok");
    return 0;
}
