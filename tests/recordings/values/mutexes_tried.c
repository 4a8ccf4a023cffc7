// Locks that are tried, taken with a time limit, taken again by their owner, and asked for by who has them.
// reads: 20000
#include "../stress.h"

enum { TURNS = 300 };

static pthread_mutex_t recursive, checking, plain = PTHREAD_MUTEX_INITIALIZER;
static long in_recursive, in_checking, in_plain, refused;

static void nested(int depth)
{
    OK(pthread_mutex_lock(&recursive));
    in_recursive++;
    if (depth > 0)
        nested(depth - 1);
    in_recursive++;
    OK(pthread_mutex_unlock(&recursive));
}

static void tried(void)
{
    int code;
    while ((code = pthread_mutex_trylock(&plain)) == EBUSY)
        sched_yield();
    OK(code);
    in_plain++;
    OK(pthread_mutex_unlock(&plain));
}

static void timed(void)
{
    struct timespec *limit = new_limit(30000);
    OK(pthread_mutex_timedlock(&plain, limit));
    in_plain++;
    OK(pthread_mutex_unlock(&plain));
    free(limit);
}

static void checked(void)
{
    OK(pthread_mutex_lock(&checking));
    RETURNS(pthread_mutex_lock(&checking), EDEADLK);
    RETURNS(pthread_mutex_trylock(&checking), EBUSY);
    refused++;
    in_checking++;
    OK(pthread_mutex_unlock(&checking));
    RETURNS(pthread_mutex_unlock(&checking), EPERM);
}

static void *work(void *number)
{
    for (int i = 0; i < TURNS; i++) {
        nested(2);
        tried();
        timed();
        checked();
    }
    return number;
}

static void init(pthread_mutex_t *mutex, int type)
{
    pthread_mutexattr_t attributes;
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_settype(&attributes, type));
    OK(pthread_mutex_init(mutex, &attributes));
    OK(pthread_mutexattr_destroy(&attributes));
}

int main(void)
{
    init(&recursive, PTHREAD_MUTEX_RECURSIVE);
    init(&checking, PTHREAD_MUTEX_ERRORCHECK);
    run_threads(THREADS, work);
    CHECK(in_recursive == 6L * THREADS * TURNS && in_plain == 2L * THREADS * TURNS);
    CHECK(in_checking == THREADS * TURNS && refused == THREADS * TURNS);
    return 0;
}
