/* A long computation from a shared value, done without the lock; its result counts only if the value is still the same. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { WORKERS = 2, CHANGES = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int value;
    int result, result_of;
} shared = {5, 0, 0};

static int triangle(int value)
{
    int sum = 0;
    for (int i = 1; i <= value; i++)
        sum += i;
    return sum;
}

/* Right: the copy may go stale, but the second block looks again. */
static void *compute(void *argument)
{
    (void)argument;
    int done = 0;
    while (!done) {
        pthread_mutex_lock(&lock);
        int value = shared.value;
        pthread_mutex_unlock(&lock);
        int result = triangle(value);
        pthread_mutex_lock(&lock);
        if (value == shared.value) {
            shared.result = result;
            shared.result_of = value;
            done = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *change(void *argument)
{
    (void)argument;
    for (int i = 0; i < CHANGES; i++) {
        pthread_mutex_lock(&lock);
        shared.value++;
        pthread_mutex_unlock(&lock);
        usleep(300);
    }
    return NULL;
}

int main(void)
{
    pthread_t changer, workers[WORKERS];
    pthread_create(&changer, NULL, change, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, compute, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    pthread_join(changer, NULL);
    printf("result fits: %d\n", shared.result == triangle(shared.result_of));
    return 0;
}
