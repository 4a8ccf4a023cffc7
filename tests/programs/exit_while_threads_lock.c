// main returns while other threads lock and unlock as fast as they can.
#include "check.h"

#define LOCKS 64

static pthread_mutex_t locks[LOCKS];

static void *lock_for_ever(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    for (;;) {
        random = random * 1664525u + 1013904223u;
        OK(pthread_mutex_lock(&locks[random >> 26]));
        OK(pthread_mutex_unlock(&locks[random >> 26]));
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < LOCKS; i++)
        OK(pthread_mutex_init(&locks[i], NULL));
    for (uintptr_t i = 1; i <= 6; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, lock_for_ever, (void *)i));
        OK(pthread_detach(id));
    }
    sleep_ms(100);
    puts("ok");
    return 0;
}
