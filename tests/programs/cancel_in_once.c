// An init routine that is cancelled leaves the once control as if it had never been called.
#include "check.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int calls, inside;

static void init(void)
{
    calls++;
    if (calls == 1) {
        inside = 1;
        sleep_ms(100000);
    }
}

static void *caller(void *unused)
{
    OK(pthread_once(&once, init));
    return unused;
}

int main(void)
{
    pthread_t first, second;
    void *value;
    OK(pthread_create(&first, NULL, caller, NULL));
    while (!inside)
        sleep_ms(1);
    OK(pthread_create(&second, NULL, caller, NULL));
    sleep_ms(10);
    OK(pthread_cancel(first));
    OK(pthread_join(first, &value));
    CHECK(value == PTHREAD_CANCELED);
    OK(pthread_join(second, &value));
    CHECK(value == NULL && calls == 2);
    OK(pthread_once(&once, init));
    CHECK(calls == 2);
    puts("ok");
    return 0;
}
