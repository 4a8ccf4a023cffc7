// A block marked by hand, also in code without compiler hooks.
// variants: plain instrumented clang
// finds: transfer strong after
#include "shared_value.h"
#include "avmon.h"

static void *work(void *unused)
{
    AVMON_ATOMIC_BEGIN("transfer");
    int seen = get(); /* first */
    set(seen + 1); /* second */
    AVMON_ATOMIC_END();
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    set(100); /* culprit */
    return unused;
}

int main(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, work, NULL));
    OK(pthread_create(&b, NULL, other, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    puts("done");
    return 0;
}
