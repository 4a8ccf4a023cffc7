/*
 * Runs in the program's threads: the calls in which a thread can be cancelled or that call back into the program.
 * They are C with -fexceptions: a forced unwind goes through them, and a cleanup handler sees it pass.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* Any version of the symbol will do. */
#define ANY ""

/* name, return type, parameters, symbol version. pthread_cond_* exists twice in glibc, as different functions. */
#define REAL_FUNCTIONS(X)                                                                                             \
    X(pthread_cond_wait, int, (pthread_cond_t *, pthread_mutex_t *), "GLIBC_2.3.2")                                   \
    X(pthread_cond_timedwait, int, (pthread_cond_t *, pthread_mutex_t *, const struct timespec *), "GLIBC_2.3.2")     \
    X(pthread_cond_clockwait, int, (pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *), ANY)   \
    X(pthread_join, int, (pthread_t, void **), ANY)                                                                   \
    X(pthread_timedjoin_np, int, (pthread_t, void **, const struct timespec *), ANY)                                  \
    X(pthread_clockjoin_np, int, (pthread_t, void **, clockid_t, const struct timespec *), ANY)                      \
    X(pthread_cancel, int, (pthread_t), ANY)                                                                          \
    X(pthread_once, int, (pthread_once_t *, void (*)(void)), ANY)                                                     \
    X(read, ssize_t, (int, void *, size_t), ANY)                                                                      \
    X(readv, ssize_t, (int, const struct iovec *, int), ANY)                                                          \
    X(recv, ssize_t, (int, void *, size_t, int), ANY)                                                                 \
    X(recvfrom, ssize_t, (int, void *, size_t, int, struct sockaddr *, socklen_t *), ANY)                             \
    X(recvmsg, ssize_t, (int, struct msghdr *, int), ANY)                                                             \
    X(eventfd_read, int, (int, eventfd_t *), ANY)                                                                     \
    X(__read_chk, ssize_t, (int, void *, size_t, size_t), ANY)                                                        \
    X(__recv_chk, ssize_t, (int, void *, size_t, size_t, int), ANY)                                                   \
    X(sigwait, int, (const sigset_t *, int *), ANY)                                                                   \
    X(sigwaitinfo, int, (const sigset_t *, siginfo_t *), ANY)                                                         \
    X(sigtimedwait, int, (const sigset_t *, siginfo_t *, const struct timespec *), ANY)                               \
    X(sem_wait, int, (sem_t *), ANY)                                                                                  \
    X(sem_timedwait, int, (sem_t *, const struct timespec *), ANY)                                                    \
    X(sem_clockwait, int, (sem_t *, clockid_t, const struct timespec *), ANY)                                        \
    X(cnd_wait, int, (cnd_t *, mtx_t *), ANY)                                                                         \
    X(cnd_timedwait, int, (cnd_t *, mtx_t *, const struct timespec *), ANY)                                           \
    X(thrd_join, int, (thrd_t, int *), ANY)                                                                           \
    X(call_once, void, (once_flag *, void (*)(void)), ANY)                                                            \
    X(clock_gettime, int, (clockid_t, struct timespec *), ANY)                                                        \
    X(clock_nanosleep, int, (clockid_t, int, const struct timespec *, struct timespec *), ANY)

static struct {
#define FIELD(name, result, parameters, version) result(*name) parameters;
    REAL_FUNCTIONS(FIELD)
#undef FIELD
} real;

AVMON_PRIVATE void avmon_resolve_waits(void) {
#define RESOLVE(name, result, parameters, version)                                                                    \
    {                                                                                                                 \
        void *found = (version)[0] != 0 ? dlvsym(RTLD_NEXT, #name, (version)) : NULL;                                 \
        if (found == NULL)                                                                                            \
            found = dlsym(RTLD_NEXT, #name);                                                                          \
        *(void **)&real.name = found;                                                                                 \
    }
    REAL_FUNCTIONS(RESOLVE)
#undef RESOLVE
}

/* A constructor of another library may call us before our own constructor ran. */
#define REAL(name) (__builtin_expect(real.name == NULL, 0) ? (avmon_resolve(), real.name) : real.name)

struct wait {
    void *condition;
    void *lock;
    uintptr_t pc;
    int begun;
};

/* The wait was cancelled: the mutex is held again while the program's cleanup handlers run. */
static void wait_cancelled(void *argument) {
    struct wait *wait = argument;
    if (wait->begun)
        avmon_wait_end(wait->condition, wait->lock, 0, 1, wait->pc);
}

/* A wait until no time at all is refused before it begins. */
static int is_time(const struct timespec *until) { return until->tv_nsec >= 0 && until->tv_nsec < 1000000000; }

/* A word of glibc's condition variable, which is part of its ABI: static initialisers write it. */
enum { CONDITION_FLAGS = 9, IS_SHARED = 1, IS_MONOTONIC = 2 };

static uint32_t flags_of(const void *condition) { return ((const uint32_t *)condition)[CONDITION_FLAGS]; }

static clockid_t clock_of(const pthread_cond_t *condition) {
    return flags_of(condition) & IS_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

static int has_passed(clockid_t clock, const struct timespec *until) {
    struct timespec now;
    /* Not ours, which may tell the program another time. */
    REAL(clock_gettime)(clock, &now);
    return now.tv_sec != until->tv_sec ? now.tv_sec > until->tv_sec : now.tv_nsec >= until->tv_nsec;
}

static void steered_wait_cancelled(void *argument) {
    struct wait *wait = argument;
    avmon_steered_cancelled(wait->lock, wait->pc);
}

/*
 * Only here can the thread be cancelled: all the rest holds what others wait for. Not in the middle of the system call: an unwinding that
 * begins anywhere but at a call finds no cleanup handler. So a cancellation is noticed with the next nap.
 */
static void nap(uint32_t *word, uint32_t seen) {
    const struct timespec moment = {0, 20 * 1000 * 1000};
    pthread_testcancel();
    syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, &moment, NULL, 0);
}

/*
 * In a steered run a thread waits at the gate and not in the kernel, so that when it takes its lock again is decided there. 1: it was
 * signalled, 0: the time is over, -1: it must wait in the usual way (a condition that other processes use too, a lock that is not its own).
 */
static int steered_wait(void *condition, void *lock, clockid_t clock, const struct timespec *until, uintptr_t pc) {
    if (flags_of(condition) & IS_SHARED)
        return -1;
    uint32_t *word = avmon_steered_begin(condition, lock, until == NULL, pc);
    if (word == NULL)
        return -1;
    int woken = 1;
    struct wait wait = {condition, lock, pc, 1};
    struct avmon_deadline end;
    until = avmon_deadline(clock, until, &end);
    pthread_cleanup_push(steered_wait_cancelled, &wait);
    for (;;) {
        uint32_t seen = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        if (!avmon_steered_is_asleep())
            break;
        if (until != NULL && has_passed(clock, until)) {
            woken = 0;
            avmon_deadline_passed(&end);
            break;
        }
        nap(word, seen);
    }
    pthread_cleanup_pop(0);
    return woken;
}

/*
 * The lock is given back and taken again inside the call, unless the wait is refused: then nothing happened. A robust
 * mutex that became unrecoverable meanwhile is not taken again. `until` is a variable: the call gets what the deadline is in truth.
 */
#define WAIT(condition, lock, pc, allowed, clock, until, timed_out, call)                                             \
    if (AVMON_UNLIKELY(avmon_recording == AVMON_STEERED) && (allowed)) {                                              \
        int woken = steered_wait((condition), (lock), (clock), (until), (pc));                                        \
        if (woken >= 0) {                                                                                             \
            int taken = avmon_steered_end((condition), (lock), woken, (pc));                                          \
            return taken == 0 && !woken ? (timed_out) : taken;                                                        \
        }                                                                                                             \
    }                                                                                                                 \
    struct wait wait = {(condition), (lock), (pc), (allowed) && avmon_wait_begin((lock), (pc))};                      \
    struct avmon_deadline end;                                                                                        \
    (until) = avmon_deadline((clock), (until), &end);                                                                 \
    int result;                                                                                                       \
    pthread_cleanup_push(wait_cancelled, &wait);                                                                      \
    result = (call);                                                                                                  \
    pthread_cleanup_pop(0);                                                                                           \
    if (result == (timed_out))                                                                                        \
        avmon_deadline_passed(&end);                                                                                  \
    if (wait.begun)                                                                                                   \
        avmon_wait_end((condition), (lock), result != (timed_out), result != ENOTRECOVERABLE, (pc));                  \
    return result

AVMON_PRIVATE int avmon_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, uintptr_t pc) {
    const struct timespec *until = NULL;
    WAIT(c, m, pc, 1, CLOCK_REALTIME, until, ETIMEDOUT, REAL(pthread_cond_wait)(c, m));
}

AVMON_PRIVATE int avmon_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until,
                                               uintptr_t pc) {
    WAIT(c, m, pc, is_time(until), clock_of(c), until, ETIMEDOUT, REAL(pthread_cond_timedwait)(c, m, until));
}

AVMON_PRIVATE int avmon_pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                               const struct timespec *until, uintptr_t pc) {
    int allowed = is_time(until) && (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC);
    WAIT(c, m, pc, allowed, clock, until, ETIMEDOUT, REAL(pthread_cond_clockwait)(c, m, clock, until));
}

/* C11 has no code for an unrecoverable mutex, and no such mutex. */
AVMON_PRIVATE int avmon_cnd_wait(cnd_t *c, mtx_t *m, uintptr_t pc) {
    const struct timespec *until = NULL;
    WAIT(c, m, pc, 1, CLOCK_REALTIME, until, thrd_timedout, REAL(cnd_wait)(c, m));
}

AVMON_PRIVATE int avmon_cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *until, uintptr_t pc) {
    WAIT(c, m, pc, is_time(until), CLOCK_REALTIME, until, thrd_timedout, REAL(cnd_timedwait)(c, m, until));
}

/* The id must be asked for before the join: afterwards the pthread_t may already belong to a new thread. */
#define JOIN(thread, pc, clock, until, call)                                                                          \
    uint64_t id = avmon_join_begin((uintptr_t)(thread), (until) == NULL, (pc));                                       \
    struct avmon_deadline end;                                                                                        \
    (until) = avmon_deadline((clock), (until), &end);                                                                 \
    int result = (call);                                                                                              \
    if (result == 0)                                                                                                  \
        avmon_join_end(id, (pc));                                                                                     \
    else if (result == ETIMEDOUT)                                                                                     \
        avmon_deadline_passed(&end);                                                                                  \
    return result

AVMON_PRIVATE int avmon_pthread_join(pthread_t thread, void **value, uintptr_t pc) {
    const struct timespec *until = NULL;
    JOIN(thread, pc, CLOCK_REALTIME, until, REAL(pthread_join)(thread, value));
}

AVMON_PRIVATE int avmon_pthread_timedjoin_np(pthread_t thread, void **value, const struct timespec *until,
                                             uintptr_t pc) {
    JOIN(thread, pc, CLOCK_REALTIME, until, REAL(pthread_timedjoin_np)(thread, value, until));
}

AVMON_PRIVATE int avmon_pthread_clockjoin_np(pthread_t thread, void **value, clockid_t clock,
                                             const struct timespec *until, uintptr_t pc) {
    JOIN(thread, pc, clock, until, REAL(pthread_clockjoin_np)(thread, value, clock, until));
}

AVMON_PRIVATE int avmon_thrd_join(thrd_t thread, int *value, uintptr_t pc) {
    const struct timespec *until = NULL;
    JOIN(thread, pc, CLOCK_REALTIME, until, REAL(thrd_join)(thread, value));
}

/* A thread that cancels itself at once does not come back from the call. */
AVMON_PRIVATE int avmon_pthread_cancel(pthread_t thread, uintptr_t pc) {
    avmon_cancel_begin((uintptr_t)thread, pc);
    return REAL(pthread_cancel)(thread);
}

#define SEMAPHORE_WAIT(semaphore, pc, clock, until, call)                                                             \
    int steered = AVMON_UNLIKELY(avmon_recording == AVMON_STEERED) && (until) == NULL;                                \
    struct avmon_deadline end;                                                                                        \
    (until) = avmon_deadline((clock), (until), &end);                                                                 \
    int result = steered && avmon_steered_semaphore((semaphore), (pc)) ? 0 : (call);                                  \
    if (result == 0) {                                                                                                \
        avmon_await((semaphore), (pc));                                                                               \
    } else if (errno == ETIMEDOUT) {                                                                                  \
        avmon_deadline_passed(&end);                                                                                  \
        avmon_refused((semaphore), (pc));                                                                             \
    }                                                                                                                 \
    return result

AVMON_PRIVATE int avmon_sem_wait(sem_t *s, uintptr_t pc) {
    const struct timespec *until = NULL;
    SEMAPHORE_WAIT(s, pc, CLOCK_REALTIME, until, REAL(sem_wait)(s));
}

AVMON_PRIVATE int avmon_sem_timedwait(sem_t *s, const struct timespec *until, uintptr_t pc) {
    SEMAPHORE_WAIT(s, pc, CLOCK_REALTIME, until, REAL(sem_timedwait)(s, until));
}

AVMON_PRIVATE int avmon_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until, uintptr_t pc) {
    SEMAPHORE_WAIT(s, pc, clock, until, REAL(sem_clockwait)(s, clock, until));
}

/* The other ways to sleep only begin here. Of this one the end is known, if it has a time to end at. */
AVMON_PRIVATE int avmon_clock_nanosleep(clockid_t clock, int flags, const struct timespec *wait, struct timespec *left) {
    struct avmon_deadline end;
    if ((flags & TIMER_ABSTIME) == 0) {
        avmon_before_sleep(wait);
        return REAL(clock_nanosleep)(clock, flags, wait, left);
    }
    int result = REAL(clock_nanosleep)(clock, flags, avmon_deadline(clock, wait, &end), left);
    if (result == 0)
        avmon_deadline_passed(&end);
    return result;
}

/* Nothing read is something too: the other end was closed. */
#define READ(descriptor, type, call)                                                                                  \
    type result = (call);                                                                                             \
    if (result >= 0)                                                                                                  \
        avmon_after_read(descriptor);                                                                                 \
    return result

AVMON_PRIVATE ssize_t avmon_read(int fd, void *buffer, size_t size) {
    READ(fd, ssize_t, REAL(read)(fd, buffer, size));
}

AVMON_PRIVATE ssize_t avmon_readv(int fd, const struct iovec *vector, int count) {
    READ(fd, ssize_t, REAL(readv)(fd, vector, count));
}

AVMON_PRIVATE ssize_t avmon_recv(int fd, void *buffer, size_t size, int flags) {
    READ(fd, ssize_t, REAL(recv)(fd, buffer, size, flags));
}

AVMON_PRIVATE ssize_t avmon_recvfrom(int fd, void *buffer, size_t size, int flags, struct sockaddr *from,
                                     socklen_t *length) {
    READ(fd, ssize_t, REAL(recvfrom)(fd, buffer, size, flags, from, length));
}

AVMON_PRIVATE ssize_t avmon_recvmsg(int fd, struct msghdr *message, int flags) {
    READ(fd, ssize_t, REAL(recvmsg)(fd, message, flags));
}

AVMON_PRIVATE int avmon_eventfd_read(int fd, eventfd_t *value) { READ(fd, int, REAL(eventfd_read)(fd, value)); }

/* What the calls above become when the program is compiled with _FORTIFY_SOURCE. */
AVMON_PRIVATE ssize_t avmon___read_chk(int fd, void *buffer, size_t size, size_t room) {
    READ(fd, ssize_t, REAL(__read_chk)(fd, buffer, size, room));
}

AVMON_PRIVATE ssize_t avmon___recv_chk(int fd, void *buffer, size_t size, size_t room, int flags) {
    READ(fd, ssize_t, REAL(__recv_chk)(fd, buffer, size, room, flags));
}

AVMON_PRIVATE int avmon_sigwait(const sigset_t *set, int *signal) {
    int result = REAL(sigwait)(set, signal);
    if (result == 0)
        avmon_after_signal_wait(*signal);
    return result;
}

AVMON_PRIVATE int avmon_sigwaitinfo(const sigset_t *set, siginfo_t *info) {
    int signal = REAL(sigwaitinfo)(set, info);
    if (signal > 0)
        avmon_after_signal_wait(signal);
    return signal;
}

AVMON_PRIVATE int avmon_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *limit) {
    int signal = REAL(sigtimedwait)(set, info, limit);
    if (signal > 0)
        avmon_after_signal_wait(signal);
    return signal;
}

/*
 * The thread that runs the routine must signal before the others can see that it is done, so the signal comes at
 * the end of the routine itself. A once routine takes no argument: it finds its call through this variable, which
 * it reads at once, so that a nested call, an exception or a cancellation cannot leave it a stale one. Each call puts
 * back what it found: it may have been made by a signal handler, just before the routine of another call began.
 */
struct once {
    void (*routine)(void);
    void *flag;
    uintptr_t pc;
};

static __thread const struct once *current_once __attribute__((tls_model("initial-exec")));

static void once_routine(void) {
    const struct once once = *current_once;
    once.routine();
    avmon_signal(once.flag, once.pc);
}

AVMON_PRIVATE int avmon_pthread_once(pthread_once_t *flag, void (*routine)(void), uintptr_t pc) {
    const struct once once = {routine, flag, pc};
    const struct once *interrupted = current_once;
    current_once = &once;
    int result = REAL(pthread_once)(flag, once_routine);
    current_once = interrupted;
    avmon_await(flag, pc);
    return result;
}

AVMON_PRIVATE void avmon_call_once(once_flag *flag, void (*routine)(void), uintptr_t pc) {
    const struct once once = {routine, flag, pc};
    const struct once *interrupted = current_once;
    current_once = &once;
    REAL(call_once)(flag, once_routine);
    current_once = interrupted;
    avmon_await(flag, pc);
}
