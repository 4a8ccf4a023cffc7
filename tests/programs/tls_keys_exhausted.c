// A program may use up all keys for thread-specific data; what it gets then is EAGAIN, and threads still work.
#include "check.h"
#include <limits.h>

static void *thread(void *unused) { return unused; }

int main(void)
{
    pthread_key_t key;
    pthread_t id;
    int count = 0, code;
    while ((code = pthread_key_create(&key, NULL)) == 0)
        count++;
    // A runtime below the program may own a few of them.
    CHECK(code == EAGAIN && count > PTHREAD_KEYS_MAX - 32);
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
