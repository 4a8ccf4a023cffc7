// dlopen and dlclose of a library that locks and starts threads, repeatedly.
// shared: yes
// args: {shared}
// libs: -ldl
#include "check.h"

#ifdef SHARED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 50; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int work(void)
{
    pthread_t ids[2];
    for (int i = 0; i < 2; i++)
        OK(pthread_create(&ids[i], NULL, adder, NULL));
    for (int i = 0; i < 2; i++)
        OK(pthread_join(ids[i], NULL));
    return sum;
}

__attribute__((constructor)) static void opened(void)
{
    OK(pthread_mutex_lock(&lock));
    sum = 1000;
    OK(pthread_mutex_unlock(&lock));
}

__attribute__((destructor)) static void closed(void)
{
    OK(pthread_mutex_lock(&lock));
    printf("closed with %d\n", sum);
    OK(pthread_mutex_unlock(&lock));
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    for (int i = 0; i < 30; i++) {
        void *library = dlopen(argv[1], RTLD_NOW);
        CHECK(library);
        int (*work)(void) = (int (*)(void))dlsym(library, "work");
        CHECK(work && work() == 1100);
        OK(dlclose(library));
        CHECK(!dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD));
    }
    return 0;
}
#endif
