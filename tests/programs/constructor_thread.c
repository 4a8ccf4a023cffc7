// A thread is started by a constructor and outlives it; main joins it.
#include "check.h"

static pthread_t id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *thread(void *unused)
{
    OK(pthread_mutex_lock(&lock));
    puts("thread of the constructor");
    OK(pthread_mutex_unlock(&lock));
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    OK(pthread_mutex_lock(&lock));
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_mutex_unlock(&lock));
}

int main(void)
{
    OK(pthread_join(id, NULL));
    puts("main");
    return 0;
}
