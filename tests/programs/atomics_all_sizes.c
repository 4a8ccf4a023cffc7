// Atomic operations of every size and kind, with exact results: instrumented, each goes through a hook.
// libs: -latomic
#include "check.h"
#include <stdatomic.h>

enum { THREADS = 4, TURNS = 2000 };

#define COUNTER(type, name)                                                                               \
    static _Atomic type name;                                                                             \
    static void add_##name(void)                                                                          \
    {                                                                                                     \
        type old = atomic_load_explicit(&name, memory_order_relaxed);                                     \
        while (!atomic_compare_exchange_weak_explicit(&name, &old, (type)(old + 1), memory_order_acq_rel, \
                                                      memory_order_acquire))                              \
            ;                                                                                             \
        atomic_fetch_add(&name, 2);                                                                       \
        atomic_fetch_sub_explicit(&name, 1, memory_order_release);                                        \
    }

COUNTER(uint8_t, byte)
COUNTER(uint16_t, half)
COUNTER(uint32_t, word)
COUNTER(uint64_t, wide)
COUNTER(unsigned __int128, huge)

static atomic_flag spin = ATOMIC_FLAG_INIT;
static long guarded;
static _Atomic uint32_t bits;
static _Atomic double real;

static void *thread(void *number)
{
    for (int i = 0; i < TURNS; i++) {
        add_byte();
        add_half();
        add_word();
        add_wide();
        add_huge();
        while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire))
            ;
        guarded++;
        atomic_flag_clear_explicit(&spin, memory_order_release);
        atomic_fetch_xor(&bits, 1u << (intptr_t)number);
        atomic_fetch_or(&bits, 1u << 16);
        atomic_fetch_and(&bits, ~(1u << 17));
        double old = atomic_load(&real);
        while (!atomic_compare_exchange_strong(&real, &old, old + 0.5))
            ;
        atomic_thread_fence(memory_order_seq_cst);
        atomic_signal_fence(memory_order_seq_cst);
    }
    return NULL;
}

int main(void)
{
    pthread_t ids[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        OK(pthread_create(&ids[i], NULL, thread, (void *)i));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(ids[i], NULL));
    unsigned all = 2 * THREADS * TURNS;
    CHECK(byte == (uint8_t)all && half == (uint16_t)all && word == all && wide == all && huge == all);
    CHECK(guarded == THREADS * TURNS && bits == 1u << 16 && real == THREADS * TURNS * 0.5);
    CHECK(atomic_exchange(&word, 5) == all && word == 5);
    puts("ok");
    return 0;
}
