// Destructors of thread-specific data lock, set their key again, and run up to the limit, in every thread.
#include "check.h"
#include <limits.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t once_key, stubborn_key;
static int once_calls, stubborn_calls;

static void count(int *calls)
{
    OK(pthread_mutex_lock(&lock));
    ++*calls;
    OK(pthread_mutex_unlock(&lock));
}

static void once(void *value)
{
    CHECK(value == &once_key);
    count(&once_calls);
}

static void stubborn(void *value)
{
    count(&stubborn_calls);
    OK(pthread_setspecific(stubborn_key, value));
}

static void *thread(void *unused)
{
    OK(pthread_setspecific(once_key, &once_key));
    OK(pthread_setspecific(stubborn_key, &stubborn_key));
    return unused;
}

int main(void)
{
    OK(pthread_key_create(&once_key, once));
    OK(pthread_key_create(&stubborn_key, stubborn));
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        OK(pthread_create(&id, NULL, thread, NULL));
        OK(pthread_join(id, NULL));
    }
    CHECK(once_calls == 20);
    CHECK(stubborn_calls == 20 * PTHREAD_DESTRUCTOR_ITERATIONS);
    puts("ok");
    return 0;
}
