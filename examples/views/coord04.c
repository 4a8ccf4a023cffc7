/* A pair of coordinates: one thread exchanges them, another sets them back. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { TURNS = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int x, y;
} coord = {1, 2};

static void swap(void)
{
    pthread_mutex_lock(&lock);
    int old_x = coord.x; /* violation 1: other */
    coord.x = coord.y;
    coord.y = old_x;
    pthread_mutex_unlock(&lock);
}

static void reset(void)
{
    pthread_mutex_lock(&lock);
    coord.x = 0; /* violation 1: first */
    pthread_mutex_unlock(&lock);
    /* A swap here moves the old y to x, where it stays. */
    pthread_mutex_lock(&lock);
    coord.y = 0; /* violation 1: second */
    pthread_mutex_unlock(&lock);
}

static void *swapper(void *argument)
{
    (void)argument;
    for (int i = 0; i < TURNS; i++) {
        swap();
        usleep(2000);
    }
    return NULL;
}

static void *resetter(void *argument)
{
    (void)argument;
    usleep(1000);
    for (int i = 0; i < TURNS; i++) {
        reset();
        usleep(2000);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, swapper, NULL);
    pthread_create(&threads[1], NULL, resetter, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("x %d, y %d\n", coord.x, coord.y);
    return 0;
}
