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

// A small generator with its state in the caller's hands.
static inline unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
