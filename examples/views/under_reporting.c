/* A counter with two critical sections in one function; there is only one variable, so all views are alike. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static int read_counter(void)
{
    pthread_mutex_lock(&lock);
    int seen = counter;
    pthread_mutex_unlock(&lock);
    return seen;
}

static void set_counter(int to)
{
    pthread_mutex_lock(&lock);
    counter = to;
    pthread_mutex_unlock(&lock);
}

static void increment(void)
{
    int seen = read_counter(); /* violation 1: first */
    set_counter(seen + 1);     /* violation 1: second */ /* violation 1: other */
}

static void *visitor(void *argument)
{
    usleep(*(useconds_t *)argument);
    increment();
    return NULL;
}

int main(void)
{
    useconds_t delays[2] = {0, 2000};
    pthread_t visitors[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&visitors[i], NULL, visitor, &delays[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(visitors[i], NULL);
    printf("counted some: %d\n", counter >= 1);
    return 0;
}
