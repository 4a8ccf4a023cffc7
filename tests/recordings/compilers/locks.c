// Every kind of synchronisation, with accesses under it, and calls of several depths.
#include "same.h"
#include <semaphore.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spin;
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_barrier_t barrier;
sem_t semaphore;
int shared, *block;

static void init(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, 1);
    sem_init(&semaphore, 0, 1);
}

static void change(int by)
{
    shared += by;
}

static void under_mutex(int depth)
{
    pthread_mutex_lock(&recursive);
    change(depth);
    if (depth > 0)
        under_mutex(depth - 1);
    pthread_mutex_unlock(&recursive);
}

static void others(void)
{
    pthread_rwlock_rdlock(&rwlock);
    BETWEEN();
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    change(1);
    pthread_rwlock_unlock(&rwlock);
    pthread_spin_lock(&spin);
    change(2);
    pthread_spin_unlock(&spin);
    sem_wait(&semaphore);
    change(3);
    sem_post(&semaphore);
    pthread_barrier_wait(&barrier);
    if (pthread_mutex_trylock(&mutex) == 0) {
        change(4);
        pthread_cond_broadcast(&condition);
        pthread_mutex_unlock(&mutex);
    }
}

static void heap(void)
{
    block = (int *)malloc(8 * sizeof *block);
    block[0] = 1;
    BETWEEN();
    block = (int *)realloc(block, 4000);
    block[999] = 2;
    BETWEEN();
    free(block);
}

static void *work(void *unused)
{
    pthread_once(&once, init);
    under_mutex(3);
    others();
    heap();
    return unused;
}

int main(void)
{
    return run_twice(work);
}
