// A mutex locked by one thread and unlocked by another, as a semaphore: a signal, not a critical section.
#include "check.h"

enum { TURNS = 200 };
static pthread_mutex_t ping = PTHREAD_MUTEX_INITIALIZER, pong = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void exchange(pthread_mutex_t *mine, pthread_mutex_t *other)
{
    OK(pthread_mutex_lock(mine));
    value++;
    OK(pthread_mutex_unlock(other));
}

static void *player(void *unused)
{
    for (int i = 0; i < TURNS; i++)
        exchange(&pong, &ping);
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_mutex_lock(&pong));
    OK(pthread_create(&id, NULL, player, NULL));
    for (int i = 0; i < TURNS; i++)
        exchange(&ping, &pong);
    OK(pthread_join(id, NULL));
    printf("%d\n", value);
    return 0;
}
