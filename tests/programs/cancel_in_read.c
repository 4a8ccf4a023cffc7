// Cancellation inside read, recv and sigwait: cleanup handlers run, and what the calls leave in errno stays.
#include "check.h"
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ends[2], sockets[2], cleaned;

static void clean(void *unused)
{
    (void)unused;
    OK(pthread_mutex_lock(&lock));
    cleaned++;
    OK(pthread_mutex_unlock(&lock));
}

static void *reader(void *which)
{
    char byte;
    sigset_t set;
    int signal;
    pthread_cleanup_push(clean, NULL);
    if (which == NULL) {
        CHECK(read(ends[0], &byte, 1) < 0);
    } else if (which == (void *)1) {
        CHECK(recv(sockets[0], &byte, 1, 0) < 0);
    } else {
        OK(sigemptyset(&set));
        OK(sigaddset(&set, SIGUSR2));
        OK(sigwait(&set, &signal));
    }
    pthread_cleanup_pop(0);
    return NULL;
}

int main(void)
{
    char byte;
    OK(pipe(ends));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
    for (long which = 0; which < 3; which++) {
        pthread_t id;
        void *value;
        OK(pthread_create(&id, NULL, reader, (void *)which));
        usleep(50000);
        OK(pthread_cancel(id));
        OK(pthread_join(id, &value));
        CHECK(value == PTHREAD_CANCELED);
    }
    CHECK(cleaned == 3);
    errno = 0;
    CHECK(read(-1, &byte, 1) == -1 && errno == EBADF);
    CHECK(write(-1, "x", 1) == -1 && errno == EBADF);
    CHECK(close(-1) == -1 && errno == EBADF);
    CHECK(dup2(-1, 5) == -1 && errno == EBADF);
    CHECK(recv(sockets[0], &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    CHECK(kill(getpid(), 1000) == -1 && errno == EINVAL);
    puts("ok");
    return 0;
}
