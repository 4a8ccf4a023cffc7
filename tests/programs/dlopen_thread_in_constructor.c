// A library whose constructor starts a thread, and whose destructor stops and joins it.
// shared: yes
// args: {shared}
// libs: -ldl
#include "check.h"

#ifdef SHARED
#include <semaphore.h>

static pthread_t id;
static sem_t stop;

static void *helper(void *unused)
{
    while (sem_wait(&stop) == -1)
        ;
    return unused;
}

__attribute__((constructor)) static void opened(void)
{
    OK(sem_init(&stop, 0, 0));
    OK(pthread_create(&id, NULL, helper, NULL));
}

// The helper must not need the loader's lock to end, or this would deadlock without any monitor.
__attribute__((destructor)) static void closed(void)
{
    OK(sem_post(&stop));
    OK(pthread_join(id, NULL));
    puts("helper joined");
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int i = 0; i < 5; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        CHECK(library);
        OK(dlclose(library));
    }
    return 0;
}
#endif
