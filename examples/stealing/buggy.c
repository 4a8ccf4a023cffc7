/* A worker takes tasks from the bottom of its own queue; an idle one steals them from the top. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { CAPACITY = 16, NONE = 0, COMPILE = 1 };

/* The tasks that wait are those from top to below bottom. */
static atomic_long top, bottom;
static atomic_long tasks[CAPACITY];

/* Only the owner calls this. */
static void push(long task)
{
    long end = atomic_load(&bottom);
    atomic_store(&tasks[end], task);
    atomic_store(&bottom, end + 1);
}

/* Only the owner calls this. It announces what it wants, then looks whether a thief was faster. */
static long take(void)
{
    long last = atomic_load(&bottom) - 1;
    atomic_store(&bottom, last);   /* culprit */
    if (atomic_load(&top) <= last) /* culprit */
        return atomic_load(&tasks[last]);
    atomic_store(&bottom, last + 1);
    return NONE;
}

/* Anybody else calls this. */
static long steal(void)
{
    long first = atomic_load(&top);    /* first */
    if (first >= atomic_load(&bottom)) /* first */
        return NONE;
    /* The owner may take the same task here. */
    atomic_store(&top, first + 1); /* second */
    return atomic_load(&tasks[first]);
}

static void *thief(void *done)
{
    *(long *)done = steal();
    return NULL;
}

static void *owner(void *done)
{
    usleep(50000);
    *(long *)done = take();
    return NULL;
}

int main(void)
{
    long by_thief = NONE, by_owner = NONE;
    pthread_t threads[2];
    push(COMPILE);
    pthread_create(&threads[0], NULL, thief, &by_thief);
    pthread_create(&threads[1], NULL, owner, &by_owner);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("the task was done %d time(s)\n", (by_thief == COMPILE) + (by_owner == COMPILE));
    return 0;
}
