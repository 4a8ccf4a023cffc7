// main returns while detached threads are in the middle of locking and waiting.
// exit: 5
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile long turns;

static void *locker(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        turns++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *waiter(void *unused)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
    return unused;
}

int main(void)
{
    pthread_attr_t detached;
    OK(pthread_attr_init(&detached));
    OK(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < 4; i++) {
        pthread_t id;
        OK(pthread_create(&id, &detached, i % 2 ? locker : waiter, NULL));
    }
    sleep_ms(30);
    puts("main returns");
    return 5;
}
