// Atomic operations of every kind, size and order, and fences.
// flags: -mcx16
#include "same.h"
#include <stdatomic.h>

atomic_schar a1;
atomic_short a2;
atomic_int a4;
atomic_long a8;
_Atomic(__int128) a16;
_Atomic(void *) pointer;
atomic_flag flag = ATOMIC_FLAG_INIT;
long results[8];

static void loads(void)
{
    results[0] = atomic_load_explicit(&a1, memory_order_relaxed);
    results[0] = atomic_load_explicit(&a2, memory_order_acquire);
    results[0] = atomic_load_explicit(&a4, memory_order_seq_cst);
    results[0] = atomic_load_explicit(&a8, memory_order_acquire);
    results[0] = (long)atomic_load_explicit(&a16, memory_order_relaxed);
    results[0] = atomic_load_explicit(&pointer, memory_order_acquire) == NULL;
}

static void stores(void)
{
    atomic_store_explicit(&a1, 1, memory_order_relaxed);
    atomic_store_explicit(&a2, 2, memory_order_release);
    atomic_store_explicit(&a4, 3, memory_order_seq_cst);
    atomic_store_explicit(&a8, 4, memory_order_release);
    atomic_store_explicit(&a16, 5, memory_order_seq_cst);
    atomic_store_explicit(&pointer, NULL, memory_order_release);
}

static void updates(void)
{
    results[1] = atomic_fetch_add_explicit(&a1, 1, memory_order_relaxed);
    results[1] = atomic_fetch_sub_explicit(&a2, 1, memory_order_acquire);
    results[1] = atomic_fetch_or_explicit(&a4, 1, memory_order_release);
    results[1] = atomic_fetch_and_explicit(&a8, 3, memory_order_acq_rel);
    results[1] = atomic_fetch_xor_explicit(&a4, 3, memory_order_seq_cst);
    results[1] = atomic_exchange_explicit(&a4, 9, memory_order_acq_rel);
    results[1] = (long)atomic_fetch_add_explicit(&a16, 9, memory_order_relaxed);
    results[1] = atomic_flag_test_and_set_explicit(&flag, memory_order_acquire);
    atomic_flag_clear_explicit(&flag, memory_order_release);
}

static void comparisons(void)
{
    int seen = atomic_load(&a4);
    results[2] = atomic_compare_exchange_strong_explicit(&a4, &seen, 20, memory_order_acq_rel, memory_order_acquire);
    seen = 5;
    results[2] = atomic_compare_exchange_strong_explicit(&a4, &seen, 21, memory_order_release, memory_order_relaxed);
    seen = 20;
    results[2] = atomic_compare_exchange_strong_explicit(&a4, &seen, 1, memory_order_seq_cst, memory_order_seq_cst);
}

static void fences(void)
{
    atomic_thread_fence(memory_order_acquire);
    BETWEEN();
    atomic_thread_fence(memory_order_release);
    BETWEEN();
    atomic_thread_fence(memory_order_acq_rel);
    BETWEEN();
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store_explicit(&a4, 3, memory_order_relaxed);
}

static void *work(void *unused)
{
    loads();
    stores();
    updates();
    comparisons();
    fences();
    return unused;
}

int main(void)
{
    return run_twice(work);
}
