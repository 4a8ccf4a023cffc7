// Two acquires in a start routine: a weak finding, since most threads are not meant to be atomic as a whole.
// finds: worker base
#include "shared_value.h"

static void *worker(void *unused)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
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
