// Two acquires in main: a weak finding.
// finds: main base
#include "shared_value.h"

static void *other(void *unused)
{
    sleep_ms(60);
    set(9);
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, other, NULL));
    int seen = get(); /* first */
    set(seen + 1); /* second */
    OK(pthread_join(id, NULL));
    puts("done");
    return 0;
}
