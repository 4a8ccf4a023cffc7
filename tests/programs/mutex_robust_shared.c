// A robust mutex shared between processes: the child dies with it, also by SIGKILL, and the parent is told.
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t *lock = mmap(NULL, sizeof *lock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(lock != MAP_FAILED);
    OK(pthread_mutexattr_init(&attributes));
    OK(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(lock, &attributes));
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            OK(pthread_mutex_lock(lock));
            if (i == 0)
                _exit(0);
            raise(SIGKILL);
        }
        CHECK(waitpid(pid, NULL, 0) == pid);
        RETURNS(pthread_mutex_lock(lock), EOWNERDEAD);
        OK(pthread_mutex_consistent(lock));
        OK(pthread_mutex_unlock(lock));
    }
    puts("ok");
    return 0;
}
