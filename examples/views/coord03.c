/* A point is moved while others look at it: at both coordinates at once, at one, or at one after the other. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct pair {
    int x, y;
};

struct coord {
    pthread_mutex_t lock;
    int x, y;
};

static int get_x(struct coord *coord)
{
    pthread_mutex_lock(&coord->lock);
    int x = coord->x;
    pthread_mutex_unlock(&coord->lock);
    return x;
}

static int get_y(struct coord *coord)
{
    pthread_mutex_lock(&coord->lock);
    int y = coord->y;
    pthread_mutex_unlock(&coord->lock);
    return y;
}

static struct pair get_xy(struct coord *coord)
{
    pthread_mutex_lock(&coord->lock);
    struct pair xy = {coord->x, coord->y};
    pthread_mutex_unlock(&coord->lock);
    return xy;
}

static void set_xy(struct coord *coord, struct pair xy)
{
    pthread_mutex_lock(&coord->lock);
    coord->x = xy.x;
    coord->y = xy.y;
    pthread_mutex_unlock(&coord->lock);
}

enum { STEPS = 4 };

static struct coord point = {PTHREAD_MUTEX_INITIALIZER, 0, 0};

/* The point stays on the line x == y. */
static void *move(void *argument)
{
    (void)argument;
    for (int step = 1; step <= STEPS; step++) {
        set_xy(&point, (struct pair){step, step}); /* violation 1: other */
        usleep(300);
    }
    return NULL;
}

struct look {
    int differences, furthest;
};

/* Right: both coordinates are of one moment. */
static void *look_at_both(void *argument)
{
    struct look *look = argument;
    struct pair seen = get_xy(&point);
    look->differences = seen.x - seen.y;
    return NULL;
}

/* Right: a part of the pair, and then all of it anew. */
static void *look_twice(void *argument)
{
    struct look *look = argument;
    look->furthest = get_x(&point);
    struct pair seen = get_xy(&point);
    look->differences = seen.x - seen.y;
    return NULL;
}

/* Right: needs one coordinate only. */
static void *look_at_one(void *argument)
{
    struct look *look = argument;
    look->furthest = get_y(&point);
    return NULL;
}

/* Wrong: the point may move between the two, then they are of two points. */
static void *look_at_each(void *argument)
{
    struct look *look = argument;
    int x = get_x(&point); /* violation 1: first */
    int y = get_y(&point); /* violation 1: second */
    look->differences = x - y;
    return NULL;
}

int main(void)
{
    void *(*const watchers[])(void *) = {look_at_both, look_twice, look_at_one, look_at_each};
    enum { WATCHERS = sizeof watchers / sizeof watchers[0] };
    struct look looks[WATCHERS] = {{0, 0}};
    pthread_t mover, threads[WATCHERS];
    pthread_create(&mover, NULL, move, NULL);
    for (int i = 0; i < WATCHERS; i++)
        pthread_create(&threads[i], NULL, watchers[i], &looks[i]);
    for (int i = 0; i < WATCHERS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(mover, NULL);
    int differences = 0;
    for (int i = 0; i < WATCHERS; i++)
        differences += looks[i].differences;
    printf("at %d, %d, seen off the line by %d\n", point.x, point.y, differences);
    return 0;
}
