// A loop over correct critical sections that wait: from the wait of one turn to the lock of the next it is still a loop.
// finds: take_turns loop
#include "shared_value.h"

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void take_turns(int me)
{
    for (int i = 0; i < 100; i++) {
        OK(pthread_mutex_lock(&lock));
        while (value != me)
            OK(pthread_cond_wait(&changed, &lock));
        value = !me;
        OK(pthread_cond_signal(&changed));
        OK(pthread_mutex_unlock(&lock));
    }
}

static void *player(void *unused)
{
    take_turns(1);
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, player, NULL));
    take_turns(0);
    OK(pthread_join(id, NULL));
    puts("done");
    return 0;
}
