/* Times lock+unlock pairs: `locks one|burst|alternate|two COUNT`; prints nanoseconds per pair. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *pairs(void *count) {
    for (long i = (long)count; i > 0; i--) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static pthread_mutex_t another = PTHREAD_MUTEX_INITIALIZER;

static void alternating_pairs(long count) {
    for (long i = 0; i < count; i += 2) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&another);
        pthread_mutex_unlock(&another);
    }
}

static void *sleeper(void *unused) {
    (void)unused;
    pause();
    return NULL;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    long count = atol(argv[2]);
    pthread_t thread, other;
    /* A second thread, or a monitor could find that nobody is there to interfere. */
    pthread_create(&thread, NULL, sleeper, NULL);
    if (strcmp(argv[1], "one") == 0) {
        double start = now();
        pairs((void *)count);
        printf("%.2f\n", (now() - start) / (double)count);
    } else if (strcmp(argv[1], "burst") == 0) {
        /* Short bursts with pauses, in which an analysis beside the program can keep up. The best of them counts:
         * the others had the processor taken away. */
        double best = 1e9;
        for (int i = 0; i < 50; i++) {
            usleep(20000);
            double start = now();
            pairs((void *)20000);
            double each = (now() - start) / 20000;
            best = each < best ? each : best;
        }
        printf("%.2f\n", best);
    } else if (strcmp(argv[1], "alternate") == 0) {
        double start = now();
        alternating_pairs(count);
        printf("%.2f\n", (now() - start) / (double)count);
    } else {
        double start = now();
        pthread_create(&thread, NULL, pairs, (void *)(count / 2));
        pthread_create(&other, NULL, pairs, (void *)(count / 2));
        pthread_join(thread, NULL);
        pthread_join(other, NULL);
        printf("%.2f\n", (now() - start) / (double)count);
    }
    fflush(stdout);
    _exit(0);
}
