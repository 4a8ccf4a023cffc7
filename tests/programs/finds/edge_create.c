// The culprit's thread is created after the block.
#include "shared_value.h"

static pthread_t culprit_id;

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void *culprit_thread(void *unused)
{
    set(100);
    return unused;
}

static void *block_thread(void *unused)
{
    update();
    OK(pthread_create(&culprit_id, NULL, culprit_thread, NULL));
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, block_thread, NULL));
    OK(pthread_join(id, NULL));
    OK(pthread_join(culprit_id, NULL));
    puts("done");
    return 0;
}
