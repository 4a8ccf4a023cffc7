// 2,000 threads, 64 alive at a time.
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *adder(void *number)
{
    OK(pthread_mutex_lock(&lock));
    sum += (intptr_t)number;
    OK(pthread_mutex_unlock(&lock));
    return number;
}

int main(void)
{
    enum { ALL = 2000, AT_ONCE = 64 };
    pthread_t ids[AT_ONCE];
    for (int i = 0; i < ALL; i += AT_ONCE) {
        int count = ALL - i < AT_ONCE ? ALL - i : AT_ONCE;
        for (int j = 0; j < count; j++)
            OK(pthread_create(&ids[j], NULL, adder, (void *)(intptr_t)(i + j)));
        for (int j = 0; j < count; j++) {
            void *value;
            OK(pthread_join(ids[j], &value));
            CHECK((intptr_t)value == i + j);
        }
    }
    printf("%ld\n", sum);
    return 0;
}
