// Threads that detach themselves or are detached; their identifiers are used again at once.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int count;

static void done(void)
{
    OK(pthread_mutex_lock(&lock));
    count++;
    OK(pthread_cond_signal(&ended));
    OK(pthread_mutex_unlock(&lock));
}

static void *thread(void *detach_self)
{
    if (detach_self)
        OK(pthread_detach(pthread_self()));
    done();
    return NULL;
}

static void await(int goal)
{
    OK(pthread_mutex_lock(&lock));
    while (count < goal)
        OK(pthread_cond_wait(&ended, &lock));
    OK(pthread_mutex_unlock(&lock));
}

int main(void)
{
    for (int i = 0; i < 500; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, thread, i % 2 ? &count : NULL));
        if (i % 2 == 0)
            OK(pthread_detach(id));
        await(i + 1);
    }
    printf("%d\n", count);
    return 0;
}
