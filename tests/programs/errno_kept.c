// Successful calls of the pthreads family leave errno alone, as they do without a monitor.
#include "check.h"
#include <semaphore.h>

static void *thread(void *unused) { return unused; }

#define KEEPS_ERRNO(call)                                                                                 \
    do {                                                                                                  \
        errno = 1234;                                                                                     \
        int got_ = (call);                                                                                \
        if (got_ != 0 || errno != 1234) {                                                                 \
            fprintf(stderr, "%s gave %d and errno %d\n", #call, got_, errno);                             \
            _exit(99);                                                                                    \
        }                                                                                                 \
    } while (0)

int main(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    sem_t sem;
    pthread_t id;
    KEEPS_ERRNO(sem_init(&sem, 0, 0));
    for (int i = 0; i < 3; i++) {
        KEEPS_ERRNO(pthread_mutex_lock(&mutex));
        KEEPS_ERRNO(pthread_cond_signal(&cond));
        KEEPS_ERRNO(pthread_cond_broadcast(&cond));
        KEEPS_ERRNO(pthread_mutex_unlock(&mutex));
        KEEPS_ERRNO(pthread_rwlock_rdlock(&rwlock));
        KEEPS_ERRNO(pthread_rwlock_unlock(&rwlock));
        KEEPS_ERRNO(pthread_rwlock_wrlock(&rwlock));
        KEEPS_ERRNO(pthread_rwlock_unlock(&rwlock));
        KEEPS_ERRNO(sem_post(&sem));
        KEEPS_ERRNO(sem_wait(&sem));
        // The first pthread_create may fail and retry inside; only later ones are promised anything, and only by habit.
        OK(pthread_create(&id, NULL, thread, NULL));
        KEEPS_ERRNO(pthread_join(id, NULL));
    }
    puts("ok");
    return 0;
}
