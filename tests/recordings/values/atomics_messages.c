// Messages in plain memory, handed over by a flag: stored with release, loaded with acquire, and back again.
// reads: 10000
#include "../stress.h"
#include <stdatomic.h>

enum { PAIRS = THREADS / 2, MESSAGES = 300, WORDS = 6 };

static struct mailbox {
    long words[WORDS];
    char kind;
    atomic_int full;
} mailboxes[PAIRS];

static void send(struct mailbox *box, int message)
{
    while (atomic_load_explicit(&box->full, memory_order_acquire))
        sched_yield();
    for (int i = 0; i < WORDS; i++)
        box->words[i] = (long)message * 1000 + i;
    box->kind = (char)message;
    atomic_store_explicit(&box->full, 1, memory_order_release);
}

static void receive(struct mailbox *box, int message)
{
    while (!atomic_load_explicit(&box->full, memory_order_acquire))
        sched_yield();
    CHECK(box->kind == (char)message);
    for (int i = 0; i < WORDS; i++) {
        CHECK(box->words[i] == (long)message * 1000 + i);
        box->words[i] = -1;
    }
    atomic_store_explicit(&box->full, 0, memory_order_release);
}

static void *work(void *number)
{
    struct mailbox *box = &mailboxes[(intptr_t)number / 2];
    for (int i = 0; i < MESSAGES; i++)
        if ((intptr_t)number % 2)
            receive(box, i);
        else
            send(box, i);
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    return 0;
}
