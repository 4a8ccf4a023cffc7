// The block is an initialisation that runs once; the culprit goes on only after it.
#include "shared_value.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void *first(void *unused)
{
    OK(pthread_once(&once, update));
    return unused;
}

static void *second(void *unused)
{
    sleep_ms(60);
    OK(pthread_once(&once, update));
    set(100);
    return unused;
}

int main(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, first, NULL));
    OK(pthread_create(&b, NULL, second, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    puts("done");
    return 0;
}
