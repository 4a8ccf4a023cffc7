// What the stress programs share.
#ifndef STRESS_H
#define STRESS_H

#include "../programs/check.h"
#include <stdint.h>

enum { THREADS = 8 };

// Runs `work` in so many threads at once, each with its number, and waits for all. The ids are in memory of their own:
// pthread_create writes them without being instrumented, and nobody may have read what was there before.
static inline void run_threads(int count, void *(*work)(void *))
{
    pthread_t *ids = (pthread_t *)malloc(sizeof *ids * count);
    for (intptr_t i = 0; i < count; i++)
        OK(pthread_create(&ids[i], NULL, work, (void *)i));
    for (int i = 0; i < count; i++)
        OK(pthread_join(ids[i], NULL));
    free(ids);
}

// The time so many milliseconds from now, in memory of its own for the same reason. The caller frees it.
static inline struct timespec *new_limit(long ms)
{
    struct timespec *limit = (struct timespec *)malloc(sizeof *limit);
    OK(clock_gettime(CLOCK_REALTIME, limit));
    limit->tv_sec += ms / 1000 + (limit->tv_nsec + ms % 1000 * 1000000) / 1000000000;
    limit->tv_nsec = (limit->tv_nsec + ms % 1000 * 1000000) % 1000000000;
    return limit;
}

// A small generator with its state in the caller's hands.
static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
