// A thread replaces the threaded process by exec; the new image goes on with the same pid.
// exit: 11
// args: first
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *self;

static void *say(void *text)
{
    puts(text);
    return NULL;
}

static void *locker(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *replacer(void *unused)
{
    char pid[20];
    snprintf(pid, sizeof pid, "%d", getpid());
    char *args[] = {self, "second", pid, NULL};
    execv(self, args);
    CHECK(!"exec came back");
    return unused;
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    if (strcmp(argv[1], "second") == 0) {
        pthread_t thread;
        CHECK(getpid() == atoi(argv[2]));
        OK(pthread_create(&thread, NULL, say, "second image"));
        OK(pthread_join(thread, NULL));
        return 11;
    }
    pthread_t a, b;
    self = argv[0];
    puts("first image");
    fflush(stdout);
    OK(pthread_create(&a, NULL, locker, NULL));
    OK(pthread_create(&b, NULL, replacer, NULL));
    pthread_join(b, NULL);
    return 0;
}
