// A stack to which nodes are pushed by compare-exchange and from which all are taken at once; the taker frees them.
// reads: 10000
#include "../stress.h"
#include <stdatomic.h>

enum { NODES = 600 };

struct node {
    struct node *next;
    int owner, value;
};

static _Atomic(struct node *) top;
static atomic_long sum;
static atomic_int pushing = THREADS / 2;

static void push(int owner, int value)
{
    struct node *node = (struct node *)malloc(sizeof *node);
    node->owner = owner;
    node->value = value;
    struct node *seen = atomic_load_explicit(&top, memory_order_relaxed);
    do
        node->next = seen;
    while (!atomic_compare_exchange_weak_explicit(&top, &seen, node, memory_order_release, memory_order_relaxed));
}

static int take_all(void)
{
    struct node *node = atomic_exchange_explicit(&top, NULL, memory_order_acquire);
    int count = 0;
    while (node) {
        struct node *next = node->next;
        CHECK(node->owner >= 0 && node->owner < THREADS);
        atomic_fetch_add_explicit(&sum, node->value, memory_order_relaxed);
        free(node);
        node = next;
        count++;
    }
    return count;
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number;
    if (self % 2) {
        for (int i = 0; i < NODES; i++)
            push(self, i);
        atomic_fetch_sub(&pushing, 1);
    } else {
        while (atomic_load(&pushing) > 0)
            if (take_all() == 0)
                sched_yield();
    }
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    take_all();
    CHECK(atomic_load(&sum) == THREADS / 2 * (long)NODES * (NODES - 1) / 2);
    return 0;
}
