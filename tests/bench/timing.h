/* Runs a work on some threads and prints how many seconds it took. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Small, fast and the same everywhere: the numbers decide what the work touches. */
static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* `program THREADS SIZE`: each thread gets its number. */
static int measure(int count, char **arguments, void *(*work)(void *)) {
    int threads = count > 1 ? atoi(arguments[1]) : 2;
    pthread_t ids[64];
    double start = now();
    for (intptr_t i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, work, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("%.3f\n", now() - start);
    return 0;
}
