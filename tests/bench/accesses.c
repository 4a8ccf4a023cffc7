/* Times the hook of a plain access; prints nanoseconds for one read, one write, and one block of code that is entered. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The hooks as compilers call them, without the access itself and the code around it. */
void __tsan_read8(void *);
void __tsan_write8(void *);
void __sanitizer_cov_trace_pc(void);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *sleeper(void *unused) {
    (void)unused;
    pause();
    return NULL;
}

#define TIME(hook)                                                                                                    \
    do {                                                                                                              \
        double start = now();                                                                                         \
        for (long i = 0; i < count; i++)                                                                              \
            hook;                                                                                                     \
        printf("%.2f\n", (now() - start) / (double)count);                                                            \
    } while (0)

static long cells[512];

__attribute__((no_sanitize("thread"), no_sanitize_coverage)) int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 100000000;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    TIME(__tsan_read8(&cells[i & 511]));
    TIME(__tsan_write8(&cells[i & 511]));
    TIME(__sanitizer_cov_trace_pc());
    fflush(stdout);
    _exit(0);
}
