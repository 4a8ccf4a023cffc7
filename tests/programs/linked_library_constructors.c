// A shared library that the program is linked with: its constructor runs before main's and locks, its destructor after.
// shared: linked
#include "check.h"

#ifdef SHARED
static pthread_mutex_t lock;

static void say(const char *text)
{
    OK(pthread_mutex_lock(&lock));
    puts(text);
    OK(pthread_mutex_unlock(&lock));
}

void from_library(void) { say("called"); }

__attribute__((constructor)) static void loaded(void)
{
    OK(pthread_mutex_init(&lock, NULL));
    say("library constructor");
}

__attribute__((destructor)) static void unloaded(void) { say("library destructor"); }
#else
void from_library(void);

__attribute__((constructor)) static void start(void)
{
    puts("program constructor");
    from_library();
}

__attribute__((destructor)) static void end(void)
{
    puts("program destructor");
    from_library();
}

static void *thread(void *unused)
{
    from_library();
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_join(id, NULL));
    return 0;
}
#endif
