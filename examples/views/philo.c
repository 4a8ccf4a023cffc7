/* Dining philosophers: who wants to eat waits until both forks beside the plate are free, and takes them together. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PHILOSOPHERS = 5, MEALS = 3 };

struct table {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int in_use[PHILOSOPHERS];
    int eating, most_eating, meals;
};

static struct table table = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int left_of(int seat)
{
    return seat;
}

static int right_of(int seat)
{
    return (seat + 1) % PHILOSOPHERS;
}

/* Right: waiting gives the lock away, but looks at both forks again before it takes them. */
static void take_forks(int seat)
{
    pthread_mutex_lock(&table.lock);
    while (table.in_use[left_of(seat)] || table.in_use[right_of(seat)])
        pthread_cond_wait(&table.changed, &table.lock);
    table.in_use[left_of(seat)] = 1;
    table.in_use[right_of(seat)] = 1;
    table.eating++;
    if (table.eating > table.most_eating)
        table.most_eating = table.eating;
    pthread_mutex_unlock(&table.lock);
}

/* Right: these forks are in use by this philosopher, nobody else puts them down. */
static void put_forks(int seat)
{
    pthread_mutex_lock(&table.lock);
    table.in_use[left_of(seat)] = 0;
    table.in_use[right_of(seat)] = 0;
    table.eating--;
    table.meals++;
    pthread_cond_broadcast(&table.changed);
    pthread_mutex_unlock(&table.lock);
}

static void think(int seat)
{
    usleep(50 * (useconds_t)(seat + 1));
}

static void *philosopher(void *argument)
{
    int seat = *(int *)argument;
    for (int meal = 0; meal < MEALS; meal++) {
        think(seat);
        take_forks(seat);
        usleep(50);
        put_forks(seat);
    }
    return NULL;
}

int main(void)
{
    int seats[PHILOSOPHERS];
    pthread_t threads[PHILOSOPHERS];
    for (int i = 0; i < PHILOSOPHERS; i++) {
        seats[i] = i;
        pthread_create(&threads[i], NULL, philosopher, &seats[i]);
    }
    for (int i = 0; i < PHILOSOPHERS; i++)
        pthread_join(threads[i], NULL);
    printf("%d meals, never more than two at a time: %d\n", table.meals, table.most_eating <= PHILOSOPHERS / 2);
    return 0;
}
