// Named semaphores: exclusive creation, a second handle is the same one, the child sees it, ENOENT after unlink.
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/wait.h>

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "/sem_named_test.%d", getpid());
    sem_t *sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    CHECK(sem != SEM_FAILED);
    CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 0) == SEM_FAILED && errno == EEXIST);
    CHECK(sem_open(name, 0) == sem);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        OK(sem_post(sem));
        _exit(0);
    }
    OK(sem_wait(sem));
    CHECK(waitpid(pid, NULL, 0) == pid);
    FAILS(sem_trywait(sem), EAGAIN);
    OK(sem_close(sem));
    OK(sem_close(sem));
    OK(sem_unlink(name));
    CHECK(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    puts("ok");
    return 0;
}
