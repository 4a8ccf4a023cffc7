// A bounded queue with two condition variables. Items are made by one thread, changed by a second and freed by a third.
// reads: 9000
#include "../stress.h"

enum { ROOM = 4, PRODUCERS = 3, ITEMS = 200 };

struct item {
    int number, hops;
    struct item *self;
    char tag;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct item *items[ROOM];
    unsigned head, count;
};

#define QUEUE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0}
static struct queue raw = QUEUE, cooked = QUEUE;
static long taken;
static pthread_mutex_t taken_lock = PTHREAD_MUTEX_INITIALIZER;

static void put(struct queue *queue, struct item *item)
{
    OK(pthread_mutex_lock(&queue->lock));
    while (queue->count == ROOM)
        OK(pthread_cond_wait(&queue->not_full, &queue->lock));
    queue->items[(queue->head + queue->count++) % ROOM] = item;
    OK(pthread_cond_signal(&queue->not_empty));
    OK(pthread_mutex_unlock(&queue->lock));
}

static struct item *take(struct queue *queue)
{
    OK(pthread_mutex_lock(&queue->lock));
    while (queue->count == 0) {
        struct timespec *limit = new_limit(5);
        int code = pthread_cond_timedwait(&queue->not_empty, &queue->lock, limit);
        CHECK(code == 0 || code == ETIMEDOUT);
        free(limit);
    }
    struct item *item = queue->items[queue->head];
    queue->head = (queue->head + 1) % ROOM;
    queue->count--;
    OK(pthread_cond_signal(&queue->not_full));
    OK(pthread_mutex_unlock(&queue->lock));
    return item;
}

static void produce(void)
{
    for (int i = 0; i < ITEMS; i++) {
        struct item *item = (struct item *)malloc(sizeof *item);
        item->number = i;
        item->hops = 1;
        item->self = item;
        item->tag = 'p';
        put(&raw, item);
    }
}

static void refine(void)
{
    for (int i = 0; i < ITEMS; i++) {
        struct item *item = take(&raw);
        CHECK(item->self == item && item->tag == 'p');
        item->hops++;
        item->tag = 'r';
        put(&cooked, item);
    }
}

static void consume(void)
{
    for (int i = 0; i < ITEMS; i++) {
        struct item *item = take(&cooked);
        CHECK(item->self == item && item->tag == 'r' && item->hops == 2);
        OK(pthread_mutex_lock(&taken_lock));
        taken += item->number;
        OK(pthread_mutex_unlock(&taken_lock));
        free(item);
    }
}

static void *work(void *number)
{
    switch ((intptr_t)number / PRODUCERS) {
    case 0: produce(); break;
    case 1: refine(); break;
    default: consume();
    }
    return NULL;
}

int main(void)
{
    run_threads(3 * PRODUCERS, work);
    CHECK(taken == PRODUCERS * (long)ITEMS * (ITEMS - 1) / 2);
    return 0;
}
