// Threads that allocate, hand over and free: the program of all tests of allocators. SYMBOL is one that only the allocator
// defines.
#include "check.h"
#include <dlfcn.h>

enum { THREADS = 4, TURNS = 20000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *shared[64];

// Memory travels between threads, so that the allocator frees what another thread allocated.
static void swap(int slot, void *block)
{
    OK(pthread_mutex_lock(&lock));
    void *old = shared[slot];
    shared[slot] = block;
    OK(pthread_mutex_unlock(&lock));
    free(old);
}

static void *churn(void *seed)
{
    unsigned state = (unsigned)(intptr_t)seed;
    for (int i = 0; i < TURNS; i++) {
        state = state * 1103515245 + 12345;
        size_t size = 1 + (state >> 16) % 3000;
        char *block = malloc(size);
        CHECK(block);
        memset(block, 1, size);
        swap((int)(state >> 8) % 64, block);
    }
    return NULL;
}

int main(void)
{
    pthread_t ids[THREADS];
    // The allocator is really there.
    CHECK(dlsym(RTLD_DEFAULT, SYMBOL));
    for (intptr_t i = 0; i < THREADS; i++)
        OK(pthread_create(&ids[i], NULL, churn, (void *)(i + 1)));
    for (int i = 0; i < THREADS; i++)
        OK(pthread_join(ids[i], NULL));
    for (int i = 0; i < 64; i++)
        swap(i, NULL);
    puts("ok");
    return 0;
}
