/* A vector of blocks from which threads allocate: they look for a free block, mark it as theirs, and free it again. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { BLOCKS = 10, WANTED = 4, THREADS = 2, ROUNDS = 2, NO_BLOCK = -1 };

enum state { FREE, ALLOCATED };

struct allocation_vector {
    pthread_mutex_t lock;
    enum state blocks[BLOCKS];
    int allocated_twice, freed_twice;
};

static struct allocation_vector vector = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int get_free_block_index(struct allocation_vector *of)
{
    int found = NO_BLOCK;
    pthread_mutex_lock(&of->lock);
    for (int i = 0; i < BLOCKS && found == NO_BLOCK; i++)
        if (of->blocks[i] == FREE)
            found = i;
    pthread_mutex_unlock(&of->lock);
    return found;
}

static void mark_as_allocated_block(struct allocation_vector *of, int index)
{
    pthread_mutex_lock(&of->lock);
    if (of->blocks[index] == ALLOCATED)
        of->allocated_twice++;
    of->blocks[index] = ALLOCATED;
    pthread_mutex_unlock(&of->lock);
}

static void mark_as_free_block(struct allocation_vector *of, int index)
{
    pthread_mutex_lock(&of->lock);
    if (of->blocks[index] == FREE)
        of->freed_twice++;
    of->blocks[index] = FREE;
    pthread_mutex_unlock(&of->lock);
}

/* Wrong: another thread may mark the block that was found. */
static int allocate(void)
{
    int index = get_free_block_index(&vector); /* violation 1: first */
    if (index != NO_BLOCK)
        mark_as_allocated_block(&vector, index); /* violation 1: second */ /* violation 1: other */
    return index;
}

static void alloc_blocks(int result[WANTED])
{
    for (int i = 0; i < WANTED; i++)
        result[i] = allocate();
}

/* Right: these blocks are the thread's own by now, nobody else writes their state. */
static void free_blocks(const int result[WANTED])
{
    for (int i = 0; i < WANTED; i++)
        if (result[i] != NO_BLOCK)
            mark_as_free_block(&vector, result[i]);
}

static void *user(void *argument)
{
    usleep(*(useconds_t *)argument);
    for (int round = 0; round < ROUNDS; round++) {
        int result[WANTED];
        alloc_blocks(result);
        free_blocks(result);
    }
    return NULL;
}

int main(void)
{
    useconds_t delays[THREADS] = {0, 3000};
    pthread_t users[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&users[i], NULL, user, &delays[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(users[i], NULL);
    int in_use = 0;
    for (int i = 0; i < BLOCKS; i++)
        in_use += vector.blocks[i] == ALLOCATED;
    printf("in use %d, allocated twice %d, freed twice %d\n", in_use, vector.allocated_twice, vector.freed_twice);
    return 0;
}
