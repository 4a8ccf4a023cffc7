// stderr is closed from the start: whatever is opened next gets number 2 and must stay clean.
// shell: {run} 2>&-
#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

static void run_two(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

int main(void)
{
    char path[] = "/tmp/stderr_closed.XXXXXX";
    struct stat about;
    CHECK(fcntl(2, F_GETFD) == -1 && errno == EBADF);
    int fd = mkstemp(path);
    CHECK(fd == 2);
    unlink(path);
    run_two();
    CHECK(write(fd, "data", 4) == 4);
    CHECK(fstat(fd, &about) == 0 && about.st_size == 4);
    printf("%d\n", sum);
    return 0;
}
