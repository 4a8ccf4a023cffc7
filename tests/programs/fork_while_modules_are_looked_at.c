// fork while another thread holds the lock of the loader: the child, in which that is never given back, ends all the same.
#define _GNU_SOURCE
#include "check.h"
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int stop;

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)info, (void)size, (void)unused;
    for (volatile int i = 0; i < 2000; i++)
        ;
    return 0;
}

static void *looker(void *unused)
{
    while (!stop)
        dl_iterate_phdr(look, NULL);
    return unused;
}

int main(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, looker, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    stop = 1;
    CHECK(pthread_join(thread, NULL) == 0);
    return 0;
}
