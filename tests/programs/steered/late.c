// A thread and main write one variable, each after as many milliseconds as the command line says. Prints who was last.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int last;

static void write_after(const char *milliseconds, int who)
{
    usleep(1000 * atoi(milliseconds));
    pthread_mutex_lock(&lock);
    last = who;
    pthread_mutex_unlock(&lock);
}

static void *worker(void *milliseconds)
{
    write_after(milliseconds, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    pthread_t thread;
    pthread_create(&thread, NULL, worker, argv[1]);
    write_after(argv[2], 2);
    pthread_join(thread, NULL);
    printf("%d\n", last);
    return 0;
}
