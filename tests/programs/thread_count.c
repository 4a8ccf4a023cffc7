// The kernel shows the threads of the program and at most one more, that of the monitor.
#include "check.h"
#include <dirent.h>

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

static int tasks(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    CHECK(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

int main(void)
{
    CHECK(tasks() == 1);
    run_two();
    // A joined thread may linger in the kernel for a moment.
    for (int i = 0; i < 1000 && tasks() > 2; i++)
        sleep_ms(1);
    CHECK(tasks() <= 2);
    printf("%d\n", sum);
    return 0;
}
