// Readers and writers together: readers never see half of a write.
#include "check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *writer(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        OK(pthread_rwlock_wrlock(&lock));
        left++;
        right++;
        OK(pthread_rwlock_unlock(&lock));
    }
    return unused;
}

static void *reader(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        OK(pthread_rwlock_rdlock(&lock));
        CHECK(left == right);
        OK(pthread_rwlock_unlock(&lock));
    }
    return unused;
}

int main(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        OK(pthread_create(&ids[i], NULL, i % 2 ? writer : reader, NULL));
    for (int i = 0; i < 4; i++)
        OK(pthread_join(ids[i], NULL));
    printf("%ld\n", left);
    return 0;
}
