// Blocks that go from thread to thread, grow on the way and are freed at its end, while others reuse their addresses.
// reads: 30000
#include "../stress.h"

enum { STAGES = 6, BLOCKS = 80 };

struct block {
    int length, capacity;
    int *numbers;
};

static struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block *block;
} mailboxes[STAGES];

static void put(struct mailbox *box, struct block *block)
{
    OK(pthread_mutex_lock(&box->lock));
    while (box->block)
        OK(pthread_cond_wait(&box->changed, &box->lock));
    box->block = block;
    OK(pthread_cond_broadcast(&box->changed));
    OK(pthread_mutex_unlock(&box->lock));
}

static struct block *take(struct mailbox *box)
{
    OK(pthread_mutex_lock(&box->lock));
    while (!box->block)
        OK(pthread_cond_wait(&box->changed, &box->lock));
    struct block *block = box->block;
    box->block = NULL;
    OK(pthread_cond_broadcast(&box->changed));
    OK(pthread_mutex_unlock(&box->lock));
    return block;
}

static void append(struct block *block, int number)
{
    if (block->length == block->capacity) {
        block->capacity = block->capacity ? 2 * block->capacity : 4;
        block->numbers = (int *)realloc(block->numbers, sizeof(int) * block->capacity);
    }
    block->numbers[block->length++] = number;
}

static void check(const struct block *block)
{
    for (int i = 0; i < block->length; i++)
        CHECK(block->numbers[i] == i * 3);
}

static void *work(void *number)
{
    int stage = (int)(intptr_t)number;
    for (int i = 0; i < BLOCKS; i++) {
        struct block *block = stage == 0 ? (struct block *)calloc(1, sizeof *block) : take(&mailboxes[stage - 1]);
        check(block);
        for (int j = 0; j < 7 + i % 5; j++)
            append(block, block->length * 3);
        // What was there before is somebody else's by now, or was.
        long *scratch = (long *)malloc(sizeof(long) * (4 + i % 8));
        for (int j = 0; j < 4 + i % 8; j++)
            scratch[j] = j - stage;
        for (int j = 0; j < 4 + i % 8; j++)
            CHECK(scratch[j] == j - stage);
        free(scratch);
        if (stage + 1 < STAGES) {
            put(&mailboxes[stage], block);
        } else {
            check(block);
            free(block->numbers);
            free(block);
        }
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < STAGES; i++) {
        OK(pthread_mutex_init(&mailboxes[i].lock, NULL));
        OK(pthread_cond_init(&mailboxes[i].changed, NULL));
    }
    run_threads(STAGES, work);
    return 0;
}
