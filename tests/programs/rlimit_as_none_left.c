// No more memory from some moment on, while threads are monitored: the program gets what it asks for or is told.
// findings: any
#include "check.h"
#include <sys/resource.h>

#define LOCKS 64

static pthread_mutex_t locks[LOCKS];

static void *nothing(void *unused) { return unused; }

int main(void)
{
    pthread_t id;
    unsigned random = 1;
    struct rlimit none = {0, 0};
    for (int i = 0; i < LOCKS; i++)
        OK(pthread_mutex_init(&locks[i], NULL));
    OK(pthread_create(&id, NULL, nothing, NULL));
    OK(pthread_join(id, NULL));
    CHECK(setrlimit(RLIMIT_AS, &none) == 0);
    for (int i = 0; i < 5000; i++)
        if (pthread_create(&id, NULL, nothing, NULL) == 0)
            OK(pthread_join(id, NULL));
    for (int i = 0; i < 1000000; i++) {
        random = random * 1664525u + 1013904223u;
        OK(pthread_mutex_lock(&locks[random >> 26]));
        OK(pthread_mutex_unlock(&locks[random >> 26]));
    }
    puts("ok");
    return 0;
}
