/* Two threads that go through one lock: `turns COUNT`, times each. A schedule can make them take turns as often. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long passed;

static void *work(void *count) {
    for (long i = (long)count; i > 0; i--) {
        pthread_mutex_lock(&lock);
        passed++;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int count, char **arguments) {
    long times = count > 1 ? atol(arguments[1]) : 1;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, (void *)times);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return passed == 2 * times ? 0 : 1;
}
