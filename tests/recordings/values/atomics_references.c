// Objects with atomic reference counts: whoever drops the last one reads what all the others left, and frees.
// reads: 10000
#include "../stress.h"
#include <stdatomic.h>

enum { OBJECTS = 250 };

struct object {
    atomic_uint references;
    int marks[THREADS];
    long number;
};

static struct object *objects[OBJECTS];
static atomic_int freed;

static void drop(struct object *object)
{
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < THREADS; i++)
        CHECK(object->marks[i] == i + 1 + (int)object->number);
    free(object);
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number;
    for (int i = 0; i < OBJECTS; i++) {
        struct object *object = objects[(i + self * 7) % OBJECTS];
        atomic_fetch_add_explicit(&object->references, 1, memory_order_relaxed);
        object->marks[self] = self + 1 + (int)object->number;
        drop(object);
        drop(object);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < OBJECTS; i++) {
        objects[i] = (struct object *)malloc(sizeof *objects[i]);
        atomic_init(&objects[i]->references, THREADS);
        objects[i]->number = i;
    }
    run_threads(THREADS, work);
    CHECK(atomic_load(&freed) == OBJECTS);
    return 0;
}
