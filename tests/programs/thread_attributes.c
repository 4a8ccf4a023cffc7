// Names, attributes, CPU clocks and sizes that a program can ask about its threads are its own.
// flags: -D_GNU_SOURCE
#include "check.h"
#include <sched.h>

static void *thread(void *expected_size)
{
    char name[16];
    pthread_attr_t attributes;
    size_t size, guard;
    void *stack;
    char here;
    clockid_t clock;
    struct timespec used;
    OK(pthread_setname_np(pthread_self(), "renamed"));
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    CHECK(strcmp(name, "renamed") == 0);
    OK(pthread_getattr_np(pthread_self(), &attributes));
    OK(pthread_attr_getstack(&attributes, &stack, &size));
    OK(pthread_attr_getguardsize(&attributes, &guard));
    CHECK(size == *(size_t *)expected_size && guard == 8192);
    CHECK((char *)stack < &here && &here < (char *)stack + size);
    OK(pthread_attr_destroy(&attributes));
    OK(pthread_getcpuclockid(pthread_self(), &clock));
    OK(clock_gettime(clock, &used));
    return NULL;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t id;
    cpu_set_t cpus;
    char name[16] = "";
    size_t size = 1 << 20;
    OK(pthread_attr_init(&attributes));
    OK(pthread_attr_setstacksize(&attributes, size));
    OK(pthread_attr_setguardsize(&attributes, 8192));
    OK(pthread_create(&id, &attributes, thread, &size));
    OK(pthread_join(id, NULL));
    OK(pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus));
    CHECK(CPU_COUNT(&cpus) >= 1);
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    puts(name);
    return 0;
}
