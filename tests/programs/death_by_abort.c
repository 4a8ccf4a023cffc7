// abort() in a thread while others lock.
// exit: SIGABRT
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *aborter(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    abort();
}

int main(void)
{
    pthread_t thread;
    puts("about to abort");
    fflush(stdout);
    OK(pthread_create(&thread, NULL, aborter, NULL));
    pthread_join(thread, NULL);
    return 0;
}
