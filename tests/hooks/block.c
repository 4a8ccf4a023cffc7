/* A two-part update in code without hooks: a block only if it is marked, and only while nothing in it is meant to let
 * other threads run. */
#include <avmon.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int first, second, done;
static const char *how;

static void *writer(void *unused) {
    if (strcmp(how, "plain"))
        AVMON_ATOMIC_BEGIN("two-part update");
    pthread_mutex_lock(&mutex);
    first++;
    pthread_mutex_unlock(&mutex);
    if (!strcmp(how, "interference"))
        AVMON_INTERFERENCE();
    pthread_mutex_lock(&mutex);
    second++;
    pthread_mutex_unlock(&mutex);
    if (strcmp(how, "plain"))
        AVMON_ATOMIC_END();
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    return unused;
}

static void *reader(void *unused) {
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
    }
    pthread_mutex_lock(&mutex);
    printf("%d\n", first + second);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv) {
    how = argc == 2 ? argv[1] : "plain";
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
