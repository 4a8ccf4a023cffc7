// A hundred thousand mutexes, initialised, used by two threads, destroyed, and their memory used again.
#include "check.h"

enum { COUNT = 100000 };
static pthread_mutex_t *locks;

static void *user(void *unused)
{
    for (int i = 0; i < COUNT; i++) {
        OK(pthread_mutex_lock(&locks[i]));
        OK(pthread_mutex_unlock(&locks[i]));
    }
    return unused;
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        pthread_t ids[2];
        locks = malloc(COUNT * sizeof *locks);
        for (int i = 0; i < COUNT; i++)
            OK(pthread_mutex_init(&locks[i], NULL));
        for (int i = 0; i < 2; i++)
            OK(pthread_create(&ids[i], NULL, user, NULL));
        for (int i = 0; i < 2; i++)
            OK(pthread_join(ids[i], NULL));
        for (int i = 0; i < COUNT; i++)
            OK(pthread_mutex_destroy(&locks[i]));
        free(locks);
    }
    puts("ok");
    return 0;
}
