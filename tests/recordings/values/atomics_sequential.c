// Counters of every size, and Peterson's lock, which needs that all see the same order of stores and loads.
// flags: -mcx16
// reads: 10000
#include "../stress.h"
#include <stdatomic.h>

enum { PAIRS = THREADS / 2, TURNS = 250 };

static struct pair {
    atomic_int wants[2], turn;
    long in_section;
    char who;
} pairs[PAIRS];

static atomic_uchar counter8;
static atomic_ushort counter16;
static atomic_uint counter32;
static atomic_ullong counter64;
static _Atomic(unsigned __int128) counter128;

static void enter(struct pair *pair, int self)
{
    atomic_store(&pair->wants[self], 1);
    atomic_store(&pair->turn, 1 - self);
    while (atomic_load(&pair->wants[1 - self]) && atomic_load(&pair->turn) == 1 - self)
        sched_yield();
}

static void leave(struct pair *pair, int self)
{
    atomic_store(&pair->wants[self], 0);
}

static void count(void)
{
    atomic_fetch_add(&counter8, 1);
    atomic_fetch_add(&counter16, 1);
    atomic_fetch_xor(&counter32, 1);
    unsigned seen = atomic_load(&counter32);
    while (!atomic_compare_exchange_strong(&counter32, &seen, seen + 2))
        ;
    atomic_fetch_add(&counter64, 1ull << 33);
    atomic_fetch_add(&counter128, (unsigned __int128)1 << 64 | 1);
    CHECK(atomic_load(&counter128) >> 64 > 0);
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number % 2;
    struct pair *pair = &pairs[(intptr_t)number / 2];
    for (int i = 0; i < TURNS; i++) {
        enter(pair, self);
        pair->in_section++;
        pair->who = (char)self;
        CHECK(pair->who == self);
        leave(pair, self);
        count();
    }
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    for (int i = 0; i < PAIRS; i++)
        CHECK(pairs[i].in_section == 2 * TURNS);
    CHECK(atomic_load(&counter8) == (unsigned char)(THREADS * TURNS) && atomic_load(&counter16) == THREADS * TURNS);
    CHECK(atomic_load(&counter64) >> 33 == THREADS * TURNS && atomic_load(&counter128) >> 64 == THREADS * TURNS);
    return 0;
}
