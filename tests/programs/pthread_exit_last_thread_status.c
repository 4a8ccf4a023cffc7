// main is gone; the last thread sets the status with exit.
// exit: 6
#include "check.h"

static void *last(void *unused)
{
    (void)unused;
    sleep_ms(20);
    puts("leaving");
    exit(6);
}

int main(void)
{
    pthread_t thread;
    OK(pthread_create(&thread, NULL, last, NULL));
    OK(pthread_detach(thread));
    pthread_exit(NULL);
}
