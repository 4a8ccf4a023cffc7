// A process-shared mutex and condition variable in shared memory, between parent and forked child.
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int turn, sum;
};

static void take_turn(struct shared *shared, int me)
{
    OK(pthread_mutex_lock(&shared->lock));
    while (shared->turn != me)
        OK(pthread_cond_wait(&shared->changed, &shared->lock));
    shared->sum++;
    shared->turn = !me;
    OK(pthread_cond_signal(&shared->changed));
    OK(pthread_mutex_unlock(&shared->lock));
}

static void play(struct shared *shared, int me)
{
    for (int i = 0; i < 500; i++)
        take_turn(shared, me);
}

int main(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    OK(pthread_mutexattr_init(&mutex));
    OK(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(&shared->lock, &mutex));
    OK(pthread_condattr_init(&cond));
    OK(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED));
    OK(pthread_cond_init(&shared->changed, &cond));
    pid_t pid = fork();
    CHECK(pid >= 0);
    play(shared, pid == 0);
    if (pid == 0)
        exit(0);
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    printf("%d\n", shared->sum);
    return 0;
}
