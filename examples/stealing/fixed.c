/* A worker takes tasks from the bottom of its own queue; an idle one steals them from the top. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { CAPACITY = 16, NONE = 0, COMPILE = 1, SHIFT = 32 };

/* The tasks that wait are those from top to below bottom. Both are in one word, top above bottom, so that a compare-exchange
 * that moves one of them knows about the other. */
static atomic_long ends;
static atomic_long tasks[CAPACITY];

static const long ONE_BELOW = 1, ONE_ABOVE = 1L << SHIFT;

static long top_of(long both)
{
    return both >> SHIFT;
}

static long bottom_of(long both)
{
    return both & (ONE_ABOVE - 1);
}

/* Only the owner calls this. */
static void push(long task)
{
    atomic_store(&tasks[bottom_of(atomic_load(&ends))], task);
    atomic_fetch_add(&ends, ONE_BELOW);
}

/* Only the owner calls this. */
static long take(void)
{
    long seen = atomic_load(&ends);
    do {
        if (top_of(seen) == bottom_of(seen))
            return NONE;
    } while (!atomic_compare_exchange_strong(&ends, &seen, seen - ONE_BELOW));
    return atomic_load(&tasks[bottom_of(seen) - 1]);
}

/* Anybody else calls this. */
static long steal(void)
{
    long seen = atomic_load(&ends);
    do {
        if (top_of(seen) == bottom_of(seen))
            return NONE;
    } while (!atomic_compare_exchange_strong(&ends, &seen, seen + ONE_ABOVE));
    return atomic_load(&tasks[top_of(seen)]);
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
