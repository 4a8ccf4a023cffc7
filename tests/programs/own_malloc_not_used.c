// The program's allocator is called by the program's threads only: the monitor could deadlock with it.
// findings: any
#include "check.h"
#include <stdatomic.h>

static _Alignas(64) char memory[16 << 20];
static atomic_size_t used;
static _Thread_local int is_of_program;

static void *take(size_t size)
{
    if (!is_of_program) {
        static const char text[] = "malloc in a thread that is not the program's\n";
        CHECK(write(2, text, sizeof text - 1) > 0);
        _exit(98);
    }
    size_t start = atomic_fetch_add(&used, (size + 63) / 64 * 64);
    return start + size <= sizeof memory ? memory + start : NULL;
}

void *malloc(size_t size) { return take(size); }
void *calloc(size_t count, size_t size) { return take(count * size); }
void free(void *pointer) { (void)pointer; }

// Nothing of the memory is used twice, and what lies behind the old piece is harmless to copy.
void *realloc(void *pointer, size_t size)
{
    char *copy = take(size);
    for (size_t i = 0; pointer != NULL && i < size && (char *)pointer + i < memory + sizeof memory; i++)
        copy[i] = ((char *)pointer)[i];
    return copy;
}

__attribute__((constructor(101))) static void begin(void) { is_of_program = 1; }

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *change(void *unused)
{
    is_of_program = 1;
    for (int i = 0; i < 20; i++) {
        OK(pthread_mutex_lock(&outer));
        OK(pthread_mutex_lock(&lock));
        int seen = value;
        OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_lock(&lock));
        value = seen + 1;
        OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_unlock(&outer));
        OK(pthread_mutex_lock(&lock));
        value++;
        OK(pthread_mutex_unlock(&lock));
        sleep_ms(1);
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, change, NULL));
    change(NULL);
    OK(pthread_join(id, NULL));
    CHECK(write(1, "ok\n", 3) == 3);
    return 0;
}
