// C11 call_once and thread-specific storage whose destructor locks.
#include "check.h"
#include <threads.h>

static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static mtx_t lock;
static int calls, destroyed;

static void init(void) { calls++; }

static void destroy(void *value)
{
    CHECK(value == &key);
    RETURNS(mtx_lock(&lock), thrd_success);
    destroyed++;
    RETURNS(mtx_unlock(&lock), thrd_success);
}

static int thread(void *unused)
{
    (void)unused;
    call_once(&flag, init);
    RETURNS(tss_set(key, &key), thrd_success);
    return 0;
}

int main(void)
{
    thrd_t threads[8];
    RETURNS(mtx_init(&lock, mtx_plain), thrd_success);
    RETURNS(tss_create(&key, destroy), thrd_success);
    for (int i = 0; i < 8; i++)
        RETURNS(thrd_create(&threads[i], thread, NULL), thrd_success);
    for (int i = 0; i < 8; i++)
        RETURNS(thrd_join(threads[i], NULL), thrd_success);
    CHECK(calls == 1 && destroyed == 8);
    puts("ok");
    return 0;
}
