/* The pauses of the examples, made shorter: PAUSE_PERCENT is how much is left of each. `random` is any time up to 2 ms, for all orders in which whole
 * threads can come. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long nanoseconds(long long usual)
{
    const char *percent = getenv("PAUSE_PERCENT");
    if (percent == NULL)
        return usual;
    if (strcmp(percent, "random") != 0)
        return usual * atoi(percent) / 100;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_nsec * 2654435761u / 1024 % 2000000;
}

static int pause_for(long long usual)
{
    long long left = nanoseconds(usual);
    struct timespec time = {left / 1000000000, left % 1000000000};
    if (left > 0)
        syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &time, NULL);
    return 0;
}

int usleep(useconds_t time)
{
    return pause_for(time * 1000ll);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    (void)rest;
    return pause_for(time->tv_sec * 1000000000ll + time->tv_nsec);
}
