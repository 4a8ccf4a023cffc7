// pthread_once from many threads: the routine ran once, and before anybody goes on.
#include "check.h"

static pthread_once_t once = PTHREAD_ONCE_INIT, outer = PTHREAD_ONCE_INIT;
static int calls, value;

static void init(void)
{
    calls++;
    sleep_ms(20);
    value = 42;
}

static void nested(void) { OK(pthread_once(&once, init)); }

static void *caller(void *unused)
{
    OK(pthread_once(&once, init));
    CHECK(value == 42);
    OK(pthread_once(&outer, nested));
    return unused;
}

int main(void)
{
    pthread_t ids[8];
    for (int i = 0; i < 8; i++)
        OK(pthread_create(&ids[i], NULL, caller, NULL));
    for (int i = 0; i < 8; i++)
        OK(pthread_join(ids[i], NULL));
    CHECK(calls == 1);
    puts("ok");
    return 0;
}
