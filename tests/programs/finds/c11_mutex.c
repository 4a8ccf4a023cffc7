// The C11 calls are the same locks under other names.
// finds: update strong after
#include "../check.h"
#include <threads.h>

static mtx_t lock;
static int value;

static int get(void)
{
    mtx_lock(&lock);
    int seen = value;
    mtx_unlock(&lock);
    return seen;
}

static void set(int next)
{
    mtx_lock(&lock);
    value = next;
    mtx_unlock(&lock);
}

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static int block_thread(void *unused)
{
    (void)unused;
    update();
    return 0;
}

static int culprit_thread(void *unused)
{
    (void)unused;
    sleep_ms(60);
    set(100); /* culprit */
    return 0;
}

int main(void)
{
    thrd_t block, culprit;
    mtx_init(&lock, mtx_plain);
    thrd_create(&block, block_thread, NULL);
    thrd_create(&culprit, culprit_thread, NULL);
    thrd_join(block, NULL);
    thrd_join(culprit, NULL);
    puts("done");
    return 0;
}
