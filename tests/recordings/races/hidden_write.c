// A variable that is changed by code without hooks: the next read sees what nobody wrote.
#include "../stress.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void write_unseen(int value)
{
    __asm__ volatile("movl %1, %0" : "=m"(shared) : "r"(value) : "memory");
}

static void *work(void *number)
{
    OK(pthread_mutex_lock(&lock));
    shared = 5;
    write_unseen(6);
    CHECK(shared == 6);
    OK(pthread_mutex_unlock(&lock));
    return number;
}

int main(void)
{
    run_threads(2, work);
    return 0;
}
