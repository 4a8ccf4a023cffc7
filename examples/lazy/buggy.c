/* Two workers need a table that is built by whoever needs it first. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static int *squares;
static int times_built;

static int *build_squares(void)
{
    int *table = malloc(SIZE * sizeof *table);
    for (int i = 0; i < SIZE; i++)
        table[i] = i * i;
    return table;
}

static int *get_squares(void)
{
    pthread_mutex_lock(&lock); /* first */ /* culprit */
    int have = ready;
    int *table = squares;
    pthread_mutex_unlock(&lock);
    if (have)
        return table;
    /* Another worker may find the flag unset here. */
    table = build_squares();
    pthread_mutex_lock(&lock); /* second */ /* culprit */
    squares = table;
    ready = 1;
    times_built++;
    pthread_mutex_unlock(&lock);
    return table;
}

struct work {
    useconds_t delay_us;
    int number, square;
};

static void *worker(void *argument)
{
    struct work *work = argument;
    usleep(work->delay_us);
    work->square = get_squares()[work->number];
    return NULL;
}

int main(void)
{
    struct work works[2] = {{0, 3, 0}, {20000, 7, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, worker, &works[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d %d, table built %d time(s)\n", works[0].square, works[1].square, times_built);
    free(squares);
    return 0;
}
