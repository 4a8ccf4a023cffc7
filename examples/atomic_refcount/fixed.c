/* A cache lends a picture to whoever asks for it; whoever lets the last reference go wipes it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct picture {
    atomic_long references;
    long brightness;
};

/* The cache itself holds the first reference. */
static struct picture cached = {1, 7};

/* One more reference, but never the first one: that picture is being wiped. */
static struct picture *get(struct picture *picture)
{
    long references = atomic_load(&picture->references);
    do {
        if (references == 0)
            return NULL;
    } while (!atomic_compare_exchange_strong(&picture->references, &references, references + 1));
    return picture;
}

static void put(struct picture *picture)
{
    if (atomic_fetch_sub(&picture->references, 1) == 1)
        picture->brightness = 0;
}

struct view {
    struct picture *picture;
    long brightness;
};

static void *viewer(void *argument)
{
    struct view *view = argument;
    view->picture = get(&cached);
    if (view->picture != NULL)
        view->brightness = view->picture->brightness;
    return NULL;
}

static void *evictor(void *unused)
{
    usleep(50000);
    put(&cached);
    return unused;
}

int main(void)
{
    struct view view = {NULL, -1};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, viewer, &view);
    pthread_create(&threads[1], NULL, evictor, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    if (view.picture != NULL)
        put(view.picture);
    printf("seen %ld, now %ld, %ld reference(s) left\n", view.brightness, cached.brightness, cached.references);
    return 0;
}
