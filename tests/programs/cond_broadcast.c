// A broadcast wakes all; a queue built on two condition variables loses and invents nothing.
#include "check.h"

enum { ITEMS = 3000, CONSUMERS = 3, ROOM = 8 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], head, count, end;
static long sum;

static void put(int item)
{
    OK(pthread_mutex_lock(&lock));
    while (count == ROOM)
        OK(pthread_cond_wait(&emptied, &lock));
    queue[(head + count++) % ROOM] = item;
    OK(pthread_cond_signal(&filled));
    OK(pthread_mutex_unlock(&lock));
}

static void finish(void)
{
    OK(pthread_mutex_lock(&lock));
    end = 1;
    OK(pthread_cond_broadcast(&filled));
    OK(pthread_mutex_unlock(&lock));
}

static int take(void)
{
    OK(pthread_mutex_lock(&lock));
    while (count == 0 && !end)
        OK(pthread_cond_wait(&filled, &lock));
    int more = count > 0;
    if (more) {
        sum += queue[head];
        head = (head + 1) % ROOM;
        count--;
        OK(pthread_cond_signal(&emptied));
    }
    OK(pthread_mutex_unlock(&lock));
    return more;
}

static void *consumer(void *unused)
{
    while (take())
        ;
    return unused;
}

int main(void)
{
    pthread_t ids[CONSUMERS];
    for (int i = 0; i < CONSUMERS; i++)
        OK(pthread_create(&ids[i], NULL, consumer, NULL));
    for (int i = 1; i <= ITEMS; i++)
        put(i);
    finish();
    for (int i = 0; i < CONSUMERS; i++)
        OK(pthread_join(ids[i], NULL));
    printf("%ld\n", sum);
    return 0;
}
