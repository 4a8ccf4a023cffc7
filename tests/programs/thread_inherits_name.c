// A new thread has the name of its creator until somebody names it.
// flags: -D_GNU_SOURCE
#include "check.h"

static void *thread(void *unused)
{
    char name[16];
    OK(pthread_getname_np(pthread_self(), name, sizeof name));
    CHECK(strcmp(name, "creator") == 0);
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_setname_np(pthread_self(), "creator"));
    for (int i = 0; i < 3; i++) {
        OK(pthread_create(&id, NULL, thread, NULL));
        OK(pthread_join(id, NULL));
    }
    puts("ok");
    return 0;
}
