// Daemons close every descriptor that they do not know, and open their own in the same numbers.
// flags: -D_GNU_SOURCE
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

int main(int argc, char **argv)
{
    (void)argc;
    char path[4096], name[4200];
    struct stat about;
    run_two();
    closefrom(3);
    snprintf(path, sizeof path, "%s.data", argv[0]);
    for (int fd = 3; fd < 20; fd++) {
        snprintf(name, sizeof name, "%s.%d", path, fd);
        CHECK(open(name, O_RDWR | O_CREAT | O_TRUNC, 0600) == fd);
        unlink(name);
    }
    run_two();
    sleep_ms(50);
    for (int fd = 3; fd < 20; fd++)
        CHECK(fstat(fd, &about) == 0 && about.st_size == 0);
    printf("%d\n", sum);
    return 0;
}
