// The program brings its own malloc, which takes a pthread mutex for every call.
#include "check.h"

static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static char heap[64 << 20] __attribute__((aligned(16)));
static size_t used;
static long calls;

static void *take(size_t size)
{
    pthread_mutex_lock(&heap_lock);
    size_t *block = (size_t *)(heap + used);
    used += (size + 31) & ~(size_t)15;
    calls++;
    pthread_mutex_unlock(&heap_lock);
    if (used > sizeof heap)
        _exit(98);
    *block = size;
    return block + 2;
}

void *malloc(size_t size) { return take(size); }
void free(void *block) { (void)block; }

// The heap is never used twice, so it is still zero.
void *calloc(size_t count, size_t size) { return take(count * size); }

void *realloc(void *old, size_t size)
{
    void *block = take(size);
    if (old) {
        size_t had = ((size_t *)old)[-2];
        memcpy(block, old, had < size ? had : size);
    }
    return block;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    uintptr_t raw = (uintptr_t)take(size + alignment);
    return (void *)((raw + alignment - 1) & ~(alignment - 1));
}

void *memalign(size_t alignment, size_t size) { return aligned_alloc(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size)
{
    *block = aligned_alloc(alignment, size);
    return 0;
}

static void *churn(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        char *text = strdup("some text that the heap must keep");
        text = realloc(text, 200);
        CHECK(strcmp(text, "some text that the heap must keep") == 0);
        free(text);
    }
    return unused;
}

int main(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        OK(pthread_create(&ids[i], NULL, churn, NULL));
    for (int i = 0; i < 4; i++)
        OK(pthread_join(ids[i], NULL));
    CHECK(calls >= 16000);
    puts("ok");
    return 0;
}
