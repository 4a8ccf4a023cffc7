// Checks that every program here uses: a failed one says where and ends the process with status 99.
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                  \
    do {                                                                                                  \
        if (!(condition)) {                                                                               \
            fprintf(stderr, "%s:%d: not so: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno);     \
            _exit(99);                                                                                    \
        }                                                                                                 \
    } while (0)

// A call in the style of pthreads, with the code that it must return.
#define RETURNS(call, code)                                                                               \
    do {                                                                                                  \
        int got_ = (call);                                                                                \
        if (got_ != (code)) {                                                                             \
            fprintf(stderr, "%s:%d: %s returned %d, not %s\n", __FILE__, __LINE__, #call, got_, #code);   \
            _exit(99);                                                                                    \
        }                                                                                                 \
    } while (0)

#define OK(call) RETURNS(call, 0)

// A call in the style of system calls that must fail with this errno.
#define FAILS(call, code)                                                                                 \
    do {                                                                                                  \
        errno = 0;                                                                                        \
        int got_ = (int)(call), errno_ = errno;                                                           \
        if (got_ != -1 || errno_ != (code)) {                                                             \
            fprintf(stderr, "%s:%d: %s gave %d, errno %d, not %s\n", __FILE__, __LINE__, #call, got_,     \
                    errno_, #code);                                                                       \
            _exit(99);                                                                                    \
        }                                                                                                 \
    } while (0)

static inline void sleep_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) == -1 && errno == EINTR)
        ;
}

// The time on a clock, so many milliseconds from now.
static inline struct timespec from_now(clockid_t clock, long ms)
{
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms % 1000 * 1000000;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

#define BAD_TIME ((struct timespec){0, 1000000000})

#endif
