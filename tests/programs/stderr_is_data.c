// The program closes stderr and opens a data file as number 2: it must get nothing but data, even if there is a finding.
// findings: any
#include "check.h"
#include <fcntl.h>

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

static int get(void)
{
    OK(pthread_mutex_lock(&lock));
    int value = sum;
    OK(pthread_mutex_unlock(&lock));
    return value;
}

static void set(int value)
{
    OK(pthread_mutex_lock(&lock));
    sum = value;
    OK(pthread_mutex_unlock(&lock));
}

// A block that every monitor of atomicity should report, and must not report into the data.
static void *add_apart(void *unused)
{
    set(get() + 1);
    return unused;
}

int main(int argc, char **argv)
{
    (void)argc;
    char path[4096], text[16] = "";
    pthread_t a, b;
    snprintf(path, sizeof path, "%s.data", argv[0]);
    close(2);
    CHECK(open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) == 2);
    run_two();
    OK(pthread_create(&a, NULL, add_apart, NULL));
    sleep_ms(20);
    OK(pthread_create(&b, NULL, add_apart, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    sleep_ms(50);
    CHECK(write(2, "data", 4) == 4);
    CHECK(lseek(2, 0, SEEK_SET) == 0);
    CHECK(read(2, text, sizeof text) == 4 && strcmp(text, "data") == 0);
    unlink(path);
    printf("%d\n", sum);
    return 0;
}
