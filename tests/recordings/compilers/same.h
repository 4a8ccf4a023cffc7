// Programs of which every compiler must make the same accesses: each statement is one access to memory that others can see, or a
// read and then a write, and none can be left out, joined or moved, since a barrier for the compiler stands between. Variables
// are not static: clang makes several of one that only one file can know.
#ifndef SAME_H
#define SAME_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Compilers know nothing of what it does.
#define BETWEEN() __asm__ volatile("" ::: "memory")

pthread_t first, second;

// Runs `work` in a thread of its own, and then in another one: what they do is recorded for each by itself.
static inline int run_twice(void *(*work)(void *))
{
    if (pthread_create(&first, NULL, work, NULL) != 0 || pthread_join(first, NULL) != 0)
        return 1;
    if (pthread_create(&second, NULL, work, NULL) != 0 || pthread_join(second, NULL) != 0)
        return 1;
    puts("done");
    return 0;
}

#endif
