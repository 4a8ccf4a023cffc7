// A program with an operator new of its own, from memory that is never given back, and without an operator delete.
#include "check.h"
#include <new>

static char arena[1 << 16];
static size_t used;
static bool is_ready;

void *operator new(size_t size)
{
    CHECK(is_ready);
    void *made = arena + used;
    used += (size + 15) & ~static_cast<size_t>(15);
    return made;
}

static void *worker(void *)
{
    int *numbers = new int[4];
    numbers[0] = 1;
    return numbers;
}

int main()
{
    is_ready = true;
    pthread_t thread;
    void *made;
    CHECK(pthread_create(&thread, nullptr, worker, nullptr) == 0);
    CHECK(pthread_join(thread, &made) == 0);
    CHECK(made == arena);
    return 0;
}
