/* Two threads add to a number, each by way of a copy of its own. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *add(void *argument)
{
    int amount = *(int *)argument;
    pthread_mutex_lock(&lock);
    int local = value; /* violation 1: first */
    pthread_mutex_unlock(&lock);
    /* The other thread may add here; its amount is lost. */
    local += amount;
    pthread_mutex_lock(&lock);
    value = local; /* violation 1: second */ /* violation 1: other */
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    int amounts[2] = {3, 4};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, add, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("value in range: %d\n", value >= 3 && value <= 7);
    return 0;
}
