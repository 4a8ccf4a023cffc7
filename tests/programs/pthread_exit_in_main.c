// main leaves by pthread_exit; the process lives until its last thread ends, with status 0.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *last(void *main_thread)
{
    OK(pthread_join(*(pthread_t *)main_thread, NULL));
    OK(pthread_mutex_lock(&lock));
    puts("the thread outlived main");
    OK(pthread_mutex_unlock(&lock));
    return NULL;
}

static void cleanup(void *text) { puts(text); }

int main(void)
{
    static pthread_t self, thread;
    self = pthread_self();
    OK(pthread_create(&thread, NULL, last, &self));
    pthread_cleanup_push(cleanup, "main's cleanup");
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
}
