// A wait that is refused takes no lock, and a mutex that is given up for lost is given back: nothing is held afterwards, so the two acquires that follow are in no critical section.
#include "check.h"
#include <threads.h>

static pthread_mutex_t checking, robust, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int value;

static void add_one(void)
{
    OK(pthread_mutex_lock(&lock));
    value++;
    OK(pthread_mutex_unlock(&lock));
}

static void add_two(void)
{
    OK(pthread_mutex_lock(&lock));
    value += 2;
    OK(pthread_mutex_unlock(&lock));
}

static void *die_with_lock(void *unused)
{
    OK(pthread_mutex_lock(&robust));
    return unused;
}

static void *add_often(void *unused)
{
    for (int i = 0; i < 5; i++) {
        add_one();
        sleep_ms(2);
    }
    return unused;
}

static void init(pthread_mutex_t *mutex, int type, int robustness)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, type));
    OK(pthread_mutexattr_setrobust(&attributes, robustness));
    OK(pthread_mutex_init(mutex, &attributes));
}

static void leave_nothing_held(void)
{
    pthread_t id;
    struct timespec soon = from_now(CLOCK_REALTIME, 1);
    mtx_t recursive;
    RETURNS(pthread_cond_wait(&condition, &checking), EPERM);
    RETURNS(pthread_cond_timedwait(&condition, &checking, &soon), EPERM);
    RETURNS(pthread_cond_timedwait(&condition, &checking, &BAD_TIME), EINVAL);
    RETURNS(mtx_init(&recursive, mtx_recursive), thrd_success);
    RETURNS(mtx_unlock(&recursive), thrd_error);
    OK(pthread_create(&id, NULL, die_with_lock, NULL));
    OK(pthread_join(id, NULL));
    RETURNS(pthread_mutex_lock(&robust), EOWNERDEAD);
    OK(pthread_mutex_unlock(&robust));
    RETURNS(pthread_mutex_lock(&robust), ENOTRECOVERABLE);
}

int main(void)
{
    pthread_t id;
    init(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    init(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    OK(pthread_create(&id, NULL, add_often, NULL));
    leave_nothing_held();
    add_one();
    sleep_ms(4);
    add_two();
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
