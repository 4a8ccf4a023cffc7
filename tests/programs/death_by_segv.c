// A wild write in a thread that holds a lock.
// exit: SIGSEGV
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *volatile nowhere;

static void *crasher(void *unused)
{
    pthread_mutex_lock(&lock);
    *nowhere = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    puts("about to crash");
    fflush(stdout);
    OK(pthread_create(&thread, NULL, crasher, NULL));
    pthread_join(thread, NULL);
    return 0;
}
