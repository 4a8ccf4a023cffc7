// _exit() in a thread: no atexit handler, no flush.
// exit: 7
#include "check.h"

static void at_exit(void) { puts("atexit must not run"); }

static void *leaver(void *unused)
{
    (void)unused;
    _exit(7);
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    write(1, "direct\n", 7);
    printf("buffered, never flushed");
    OK(pthread_create(&thread, NULL, leaver, NULL));
    pthread_join(thread, NULL);
    return 0;
}
