// A function that is left by longjmp is over: a later call of it is another transaction, not a nested one.
// finds: worker base
#include "shared_value.h"
#include <setjmp.h>

static jmp_buf back;

static void leap(void)
{
    set(1);
    longjmp(back, 1);
}

static void *worker(void *unused)
{
    if (setjmp(back) == 0)
        leap();
    set(2);
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    set(9);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, worker, NULL));
    OK(pthread_create(&b, NULL, other, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    puts("done");
    return 0;
}
