// pthread_exit deep inside calls, with cleanup handlers that hold and take locks, many times.
#include "check.h"

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static int cleanups;

static void unlock_outer(void *unused)
{
    (void)unused;
    cleanups++;
    OK(pthread_mutex_unlock(&outer));
}

static void lock_inner(void *unused)
{
    (void)unused;
    OK(pthread_mutex_lock(&inner));
    cleanups++;
    OK(pthread_mutex_unlock(&inner));
}

static void leave(int depth, void *value);
static void (*volatile leave_again)(int, void *) = leave;

static void leave(int depth, void *value)
{
    if (depth == 0)
        pthread_exit(value);
    leave_again(depth - 1, value);
    CHECK(!"reached");
}

static void *thread(void *value)
{
    OK(pthread_mutex_lock(&outer));
    pthread_cleanup_push(unlock_outer, NULL);
    pthread_cleanup_push(lock_inner, NULL);
    leave(20, value);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    for (intptr_t i = 1; i <= 100; i++) {
        pthread_t id;
        void *value;
        OK(pthread_create(&id, NULL, thread, (void *)i));
        OK(pthread_join(id, &value));
        CHECK((intptr_t)value == i);
    }
    CHECK(cleanups == 200);
    puts("ok");
    return 0;
}
