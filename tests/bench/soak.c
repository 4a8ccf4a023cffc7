/* 64 threads on 10,000 locks for a given number of seconds; prints the resident memory ten times on the way. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 64, LOCKS = 10000, SAMPLES = 10 };

static pthread_mutex_t locks[LOCKS];
static long counters[LOCKS];
static atomic_int stop;

static void *worker(void *seed) {
    unsigned state = (unsigned)(long)seed * 2654435761u + 1;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        state = state * 1664525u + 1013904223u;
        unsigned a = (state >> 8) % LOCKS;
        pthread_mutex_lock(&locks[a]);
        counters[a]++;
        pthread_mutex_unlock(&locks[a]);
        if ((state & 0xff) == 0)
            usleep(100);
    }
    return NULL;
}

static long resident_kib(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmRSS:", 6) == 0)
            kib = atol(line + 6);
    if (status != NULL)
        fclose(status);
    return kib;
}

int main(int argc, char **argv) {
    int seconds = argc > 1 ? atoi(argv[1]) : 600;
    pthread_t threads[THREADS];
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, (void *)i);
    for (int i = 0; i < SAMPLES; i++) {
        usleep((useconds_t)(seconds * (1000000.0 / SAMPLES)));
        printf("%ld ", resident_kib());
        fflush(stdout);
    }
    puts("");
    atomic_store(&stop, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
