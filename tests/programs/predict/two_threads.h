/* Main and two threads. The second one comes later: the recorded run shows no violation. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void first(void);
static void second(void);

static void *run_first(void *unused)
{
    first();
    return unused;
}

static void *run_second(void *unused)
{
    usleep(50000);
    second();
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, run_first, NULL);
    pthread_create(&threads[1], NULL, run_second, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
