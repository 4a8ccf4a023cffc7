/* Times a call of a small instrumented function; prints nanoseconds per call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Not instrumented, so that nothing but the entry and exit of its caller is measured. */
__attribute__((noinline, no_sanitize("thread"))) int inner(int x) {
    __asm__ volatile("" : "+r"(x));
    return x;
}

/* A function that calls another one gets both hooks; one that does nothing gets none. */
__attribute__((noinline)) int outer(int x) { return inner(x) + 1; }

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

int main(int argc, char **argv) {
    long count = argc > 1 ? atol(argv[1]) : 100000000;
    pthread_t thread;
    pthread_create(&thread, NULL, sleeper, NULL);
    double start = now();
    for (long i = 0; i < count; i++)
        outer((int)i);
    printf("%.2f\n", (now() - start) / (double)count);
    fflush(stdout);
    _exit(0);
}
