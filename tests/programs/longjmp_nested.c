// longjmp out of nested functions that hold a lock, so often that a stack which does not recover would overflow.
#include "check.h"
#include <setjmp.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void dive(jmp_buf back, int depth);
static void (*volatile dive_again)(jmp_buf, int) = dive;

static void dive(jmp_buf back, int depth)
{
    if (depth == 0) {
        OK(pthread_mutex_lock(&lock));
        longjmp(back, 1);
    }
    dive_again(back, depth - 1);
    CHECK(!"reached");
}

static void *jumper(void *unused)
{
    for (volatile int i = 0; i < 20000; i++) {
        jmp_buf back;
        if (setjmp(back) == 0)
            dive(back, 10);
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, jumper, NULL));
    jumper(NULL);
    OK(pthread_join(id, NULL));
    OK(pthread_mutex_trylock(&lock));
    puts("ok");
    return 0;
}
