/* Two users of one object let it go; the last one frees it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct object {
    int references;
    int value;
};

/* One lock for the counts of all objects: it must outlive each of them. */
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static int times_freed;

static void get(struct object *object)
{
    pthread_mutex_lock(&count_lock);
    object->references++;
    pthread_mutex_unlock(&count_lock);
}

static void drop(struct object *object)
{
    pthread_mutex_lock(&count_lock); /* culprit */
    object->references--;
    pthread_mutex_unlock(&count_lock);
}

static int references(struct object *object)
{
    pthread_mutex_lock(&count_lock); /* culprit */
    int count = object->references;
    pthread_mutex_unlock(&count_lock);
    return count;
}

static void put(struct object *object)
{
    drop(object); /* first */
    /* The other user may drop its reference here. */
    if (references(object) == 0) { /* second */
        times_freed++;
        free(object); /* second */
    }
}

struct use {
    struct object *object;
    useconds_t delay_us;
    int seen;
};

static void *user(void *argument)
{
    struct use *use = argument;
    usleep(use->delay_us);
    use->seen = use->object->value;
    put(use->object);
    return NULL;
}

int main(void)
{
    struct object *object = malloc(sizeof *object);
    object->references = 1;
    object->value = 42;
    get(object);

    struct use uses[2] = {{object, 0, 0}, {object, 20000, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, user, &uses[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("seen %d and %d, freed %d time(s)\n", uses[0].seen, uses[1].seen, times_freed);
    return 0;
}
