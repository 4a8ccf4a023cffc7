// atexit and on_exit handlers that lock, create threads and join them.
// exit: 13
// flags: -D_DEFAULT_SOURCE
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *say(void *text)
{
    OK(pthread_mutex_lock(&lock));
    puts(text);
    OK(pthread_mutex_unlock(&lock));
    return NULL;
}

static void last(void) { say("last handler"); }

static void threaded(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, say, "thread of a handler"));
    OK(pthread_join(id, NULL));
}

static void with_status(int status, void *text)
{
    CHECK(status == 13);
    say(text);
}

int main(void)
{
    OK(atexit(last));
    OK(atexit(threaded));
    OK(on_exit(with_status, "handler with status"));
    return 13;
}
