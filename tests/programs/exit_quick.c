// quick_exit() runs its own handlers, in reverse order, and only those.
// exit: 9
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char *text)
{
    OK(pthread_mutex_lock(&lock));
    CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
    OK(pthread_mutex_unlock(&lock));
}

static void first(void) { say("registered first\n"); }
static void second(void) { say("registered second\n"); }
static void at_exit(void) { say("atexit must not run\n"); }

static void *leaver(void *unused)
{
    (void)unused;
    quick_exit(9);
}

int main(void)
{
    pthread_t thread;
    atexit(at_exit);
    OK(at_quick_exit(first));
    OK(at_quick_exit(second));
    OK(pthread_create(&thread, NULL, leaver, NULL));
    pthread_join(thread, NULL);
    return 0;
}
