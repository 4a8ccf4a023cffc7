/* A weather station keeps what its sensor said and, computed from it, what it shows. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { OFFSET = 4 };

/* Whoever wants both values takes both locks, in this order, and keeps them until it has done. */
static pthread_mutex_t measured_lock = PTHREAD_MUTEX_INITIALIZER;
static long measured;
static pthread_mutex_t corrected_lock = PTHREAD_MUTEX_INITIALIZER;
static long corrected = OFFSET;

struct sample {
    long measured, corrected;
};

static void measure(long degrees)
{
    pthread_mutex_lock(&measured_lock);
    measured = degrees;
    pthread_mutex_lock(&corrected_lock);
    corrected = degrees + OFFSET;
    pthread_mutex_unlock(&corrected_lock);
    pthread_mutex_unlock(&measured_lock);
}

static struct sample take_sample(void)
{
    struct sample sample;
    pthread_mutex_lock(&measured_lock);
    sample.measured = measured;
    pthread_mutex_lock(&corrected_lock);
    sample.corrected = corrected;
    pthread_mutex_unlock(&corrected_lock);
    pthread_mutex_unlock(&measured_lock);
    return sample;
}

static void *sensor(void *degrees)
{
    measure(*(long *)degrees);
    return NULL;
}

static void *display(void *sample)
{
    usleep(50000);
    *(struct sample *)sample = take_sample();
    return NULL;
}

int main(void)
{
    long degrees = 18;
    struct sample shown;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sensor, &degrees);
    pthread_create(&threads[1], NULL, display, &shown);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("measured %ld, corrected %ld\n", shown.measured, shown.corrected);
    return 0;
}
