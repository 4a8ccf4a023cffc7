// Relaxed flags with fences around them: what is written before a release fence is read after an acquire fence.
// reads: 9000
#include "../stress.h"
#include <stdatomic.h>

enum { STAGES = THREADS, ITEMS = 200 };

// What a stage leaves to the next one.
static struct stage {
    long value;
    short checks[3];
    atomic_int ready, taken;
} stages[STAGES];

static void pass_on(struct stage *stage, long value, int item)
{
    while (atomic_load_explicit(&stage->taken, memory_order_relaxed) != item)
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    stage->value = value;
    for (int i = 0; i < 3; i++)
        stage->checks[i] = (short)(value + i);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&stage->ready, item + 1, memory_order_relaxed);
}

static long take(struct stage *stage, int item)
{
    while (atomic_load_explicit(&stage->ready, memory_order_relaxed) != item + 1)
        sched_yield();
    atomic_thread_fence(memory_order_seq_cst);
    long value = stage->value;
    for (int i = 0; i < 3; i++)
        CHECK(stage->checks[i] == (short)(value + i));
    atomic_thread_fence(memory_order_acq_rel);
    atomic_store_explicit(&stage->taken, item + 1, memory_order_relaxed);
    return value;
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number;
    for (int i = 0; i < ITEMS; i++) {
        long value = self == 0 ? i : take(&stages[self - 1], i) + 1;
        if (self + 1 < STAGES)
            pass_on(&stages[self], value, i);
        else
            CHECK(value == i + STAGES - 1);
    }
    return NULL;
}

int main(void)
{
    run_threads(STAGES, work);
    return 0;
}
