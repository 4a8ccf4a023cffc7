/* Every atomic operation of every width, alone and by several threads at once. Prints what came out. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

typedef unsigned __int128 uint128_t;
enum { THREADS = 4, TURNS = 5000 };

static void show(const char *what, uint128_t value) {
    printf("%s %016llx%016llx\n", what, (unsigned long long)(value >> 64), (unsigned long long)value);
}

#define PATTERN ((uint128_t)0x0123456789abcdefULL << 64 | 0xf0e1d2c3b4a59687ULL)

#define ORDERS(bits, order, failure)                                                                                  \
    do {                                                                                                              \
        uint##bits##_t cell = (uint##bits##_t)PATTERN, expected;                                                      \
        show("load", __atomic_load_n(&cell, failure));                                                                \
        show("exchange", __atomic_exchange_n(&cell, 0x5a, order));                                                    \
        show("add", __atomic_fetch_add(&cell, (uint##bits##_t)PATTERN, order));                                       \
        show("sub", __atomic_fetch_sub(&cell, 3, order));                                                             \
        show("and", __atomic_fetch_and(&cell, (uint##bits##_t)(PATTERN >> 1), order));                                \
        show("or", __atomic_fetch_or(&cell, (uint##bits##_t)(PATTERN >> 3), order));                                  \
        show("xor", __atomic_fetch_xor(&cell, (uint##bits##_t)(PATTERN >> 5), order));                                \
        show("nand", __atomic_fetch_nand(&cell, (uint##bits##_t)(PATTERN >> 7), order));                              \
        show("add_fetch", __atomic_add_fetch(&cell, 9, order));                                                       \
        expected = __atomic_load_n(&cell, __ATOMIC_SEQ_CST);                                                          \
        show("strong yes", __atomic_compare_exchange_n(&cell, &expected, (uint##bits##_t)~PATTERN, 0, order, failure)); \
        show("expected", expected);                                                                                   \
        show("strong no", __atomic_compare_exchange_n(&cell, &expected, 1, 0, order, failure));                       \
        show("expected", expected);                                                                                   \
        while (!__atomic_compare_exchange_n(&cell, &expected, 77, 1, order, failure)) {                               \
        }                                                                                                             \
        show("weak", expected);                                                                                       \
        show("val yes", __sync_val_compare_and_swap(&cell, 77, (uint##bits##_t)PATTERN));                             \
        show("val no", __sync_val_compare_and_swap(&cell, 77, 1));                                                    \
        show("at the end", __atomic_load_n(&cell, __ATOMIC_RELAXED));                                                 \
    } while (0)

#define STORES(bits)                                                                                                  \
    do {                                                                                                              \
        uint##bits##_t cell = 0;                                                                                      \
        __atomic_store_n(&cell, (uint##bits##_t)PATTERN, __ATOMIC_RELAXED);                                           \
        show("store relaxed", cell);                                                                                  \
        __atomic_store_n(&cell, (uint##bits##_t)~PATTERN, __ATOMIC_RELEASE);                                          \
        show("store release", cell);                                                                                  \
        __atomic_store_n(&cell, (uint##bits##_t)(PATTERN >> 9), __ATOMIC_SEQ_CST);                                    \
        show("store seq_cst", cell);                                                                                  \
    } while (0)

#define WIDTH(bits)                                                                                                   \
    printf("width " #bits "\n");                                                                                      \
    STORES(bits);                                                                                                     \
    ORDERS(bits, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                                                                 \
    ORDERS(bits, __ATOMIC_CONSUME, __ATOMIC_CONSUME);                                                                 \
    ORDERS(bits, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);                                                                 \
    ORDERS(bits, __ATOMIC_RELEASE, __ATOMIC_RELAXED);                                                                 \
    ORDERS(bits, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);                                                                 \
    ORDERS(bits, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

static uint8_t count8;
static uint16_t count16;
static uint32_t count32;
static uint64_t count64;
static uint128_t count128, swapped128;
static atomic_flag spin = ATOMIC_FLAG_INIT;
static long guarded;

static void *worker(void *unused) {
    for (int i = 0; i < TURNS; i++) {
        __atomic_fetch_add(&count8, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&count16, 3, __ATOMIC_ACQ_REL);
        __atomic_fetch_sub(&count32, 5, __ATOMIC_RELEASE);
        __atomic_fetch_add(&count64, 0x100000001ULL, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&count128, ~(uint128_t)0 / 3, __ATOMIC_SEQ_CST);
        uint128_t old = __atomic_load_n(&swapped128, __ATOMIC_ACQUIRE);
        while (!__atomic_compare_exchange_n(&swapped128, &old, old + (((uint128_t)1 << 64) | 1), 1, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE)) {
        }
        while (atomic_flag_test_and_set_explicit(&spin, memory_order_acquire)) {
        }
        guarded++;
        atomic_flag_clear_explicit(&spin, memory_order_release);
    }
    return unused;
}

/* A message by relaxed accesses and fences. */
static int message;
static atomic_int ready;

static void *receiver(void *unused) {
    while (!atomic_load_explicit(&ready, memory_order_relaxed)) {
    }
    atomic_thread_fence(memory_order_acquire);
    printf("message %d\n", message);
    return unused;
}

int main(void) {
    WIDTH(8);
    WIDTH(16);
    WIDTH(32);
    WIDTH(64);
    WIDTH(128);

    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    show("count8", count8);
    show("count16", count16);
    show("count32", count32);
    show("count64", count64);
    show("count128", count128);
    show("swapped128", swapped128);
    printf("guarded %ld\n", guarded);

    pthread_create(&thread[0], NULL, receiver, NULL);
    message = 42;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&ready, 1, memory_order_relaxed);
    pthread_join(thread[0], NULL);
    return 0;
}
