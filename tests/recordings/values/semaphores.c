// A token that goes round a ring of semaphores, and a pool of slots behind a counting one.
// reads: 6000
#include "../stress.h"
#include <semaphore.h>

enum { ROUNDS = 150, SLOTS = 3 };

static sem_t turn[THREADS], pool, free_slots_lock;
static struct { long value; int last; } token;
static long slots[SLOTS];
static int free_slots[SLOTS], free_count;

static int take_slot(void)
{
    if (sem_trywait(&pool) != 0) {
        CHECK(errno == EAGAIN);
        OK(sem_wait(&pool));
    }
    OK(sem_wait(&free_slots_lock));
    int slot = free_slots[--free_count];
    OK(sem_post(&free_slots_lock));
    return slot;
}

static void give_slot(int slot)
{
    OK(sem_wait(&free_slots_lock));
    free_slots[free_count++] = slot;
    OK(sem_post(&free_slots_lock));
    OK(sem_post(&pool));
}

static void *work(void *number)
{
    int self = (int)(intptr_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        OK(sem_wait(&turn[self]));
        CHECK(i + self == 0 || token.last == (self + THREADS - 1) % THREADS);
        token.value++;
        token.last = self;
        OK(sem_post(&turn[(self + 1) % THREADS]));
        int slot = take_slot();
        slots[slot]++;
        give_slot(slot);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < THREADS; i++)
        OK(sem_init(&turn[i], 0, i == 0));
    OK(sem_init(&pool, 0, SLOTS));
    OK(sem_init(&free_slots_lock, 0, 1));
    for (int i = 0; i < SLOTS; i++)
        free_slots[free_count++] = i;
    run_threads(THREADS, work);
    CHECK(token.value == THREADS * ROUNDS && slots[0] + slots[1] + slots[2] == THREADS * ROUNDS);
    return 0;
}
