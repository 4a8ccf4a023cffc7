/* scenario.h: the part that all programs made of scenarios share. It keeps the order of their steps.
 *
 * Every step that another thread can notice stands behind TURN(). A thread that has the turn keeps it until it comes to
 * its next step, falls asleep or ends; so what it does for itself after a step belongs to that step.
 *
 * The monitor sees none of this: nothing here is instrumented, and nothing here calls what the monitor interposes. The
 * order that the gate makes is no order of the scenario's own.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef __has_attribute
#define __has_attribute(name) 0
#endif
#if __has_attribute(disable_sanitizer_instrumentation)
#define NO_THREAD_HOOKS disable_sanitizer_instrumentation
#else
#define NO_THREAD_HOOKS no_sanitize_thread
#endif
#if defined(__clang__)
#define NO_COVERAGE_HOOKS no_sanitize("coverage")
#elif __has_attribute(no_sanitize_coverage)
#define NO_COVERAGE_HOOKS no_sanitize_coverage
#else
#define NO_COVERAGE_HOOKS unused
#endif
#define UNSEEN __attribute__((noinline, unused, NO_THREAD_HOOKS, NO_COVERAGE_HOOKS))

/* A scenario may compare what need not be compared. */
#pragma GCC diagnostic ignored "-Wtautological-compare"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wconstant-logical-operand"
#pragma GCC diagnostic ignored "-Wself-assign"
#pragma GCC diagnostic ignored "-Wtautological-constant-out-of-range-compare"
#else
#pragma GCC diagnostic ignored "-Wbool-compare"
#endif

/* Without progress for so long, the order cannot be kept. */
enum { MOST_SECONDS = 10 };

/* A step of the order: whose, and in which line of the scenario. */
struct turn {
    unsigned char thread;
    unsigned line;
};

struct scenario {
    const char *file;
    const char *const *threads;
    const struct turn *order;
    unsigned steps;
    /* The threads that begin. */
    unsigned begin;
    /* Those that cannot go on at the end of the order, and where they are; null if there are none. */
    const char *stuck;
};

struct thread {
    pthread_t handle;
    unsigned is_started;
};

static const struct scenario *scenario;
static int is_free, shows_values;

/* How many steps of the order are done. */
static unsigned now;
static unsigned is_open;
/* Threads that have come to their first step, or to their end. */
static unsigned settled;
static unsigned started, finished;
static unsigned failures;

static _Thread_local struct {
    unsigned char index;
    unsigned line;
    int is_settled, has_turn;
} me;

/* The thread that fell asleep in the last step. */
static struct {
    pthread_mutex_t *mutex;
    pid_t thread;
    unsigned is_parked;
} sleeper;

UNSEEN static unsigned value_of(unsigned *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

/* Whoever comes first ends the program, and has its say alone. */
UNSEEN static void begin_end(void) {
    static unsigned is_ending;
    if (__atomic_exchange_n(&is_ending, 1, __ATOMIC_ACQ_REL) != 0)
        for (;;)
            pause();
}

UNSEEN static time_t seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* Lets others run: at once at first, later with pauses. */
UNSEEN static void rest(unsigned *rounds) {
    struct timespec pause = {0, 20000};
    if (++*rounds < 200)
        sched_yield();
    else
        nanosleep(&pause, 0);
}

UNSEEN static void order_is_not_kept(unsigned done) {
    const struct turn *turn = &scenario->order[done];
    begin_end();
    fprintf(stderr, "scenario: %s waits at %s:%u", scenario->threads[me.index], scenario->file, me.line);
    if (done < scenario->steps)
        fprintf(stderr, " for step %u of the order, which does not come to its end: %s at %s:%u\n", done + 1,
                scenario->threads[turn->thread], scenario->file, turn->line);
    else
        fprintf(stderr, ", and the order is at its end\n");
    exit(ORDER_NOT_KEPT);
}

/* A real wake-up may choose another sleeper than the scenario does, and lets it take the mutex at once. So whoever sleeps
 * is held in a signal handler until the order lets it go on. POSIX says that it will be woken from when the mutex is free:
 * it can be held from then on. Only the C library's own word tells that without a call that the monitor would see. */
UNSEEN static void park_sleeper(void) {
    unsigned rounds = 0;
    if (!sleeper.mutex)
        return;
    while (*(volatile int *)&sleeper.mutex->__data.__lock != 0)
        rest(&rounds);
    tgkill(getpid(), sleeper.thread, SIGUSR1);
    while (!value_of(&sleeper.is_parked))
        rest(&rounds);
    sleeper.mutex = 0;
}

UNSEEN static void await_turn(void) {
    unsigned rounds = 0, seen = value_of(&now);
    time_t since = seconds();
    for (;;) {
        unsigned done = value_of(&now);
        if (value_of(&is_open) && done < scenario->steps && scenario->order[done].thread == me.index)
            break;
        if (done != seen) {
            seen = done;
            since = seconds();
        } else if (seconds() - since > MOST_SECONDS) {
            order_is_not_kept(done);
        }
        rest(&rounds);
    }
    me.has_turn = 1;
    park_sleeper();
}

UNSEEN static void pass_turn(void) {
    if (!me.is_settled)
        __atomic_fetch_add(&settled, 1, __ATOMIC_RELEASE);
    me.is_settled = 1;
    if (me.has_turn) {
        me.has_turn = 0;
        __atomic_fetch_add(&now, 1, __ATOMIC_RELEASE);
    }
}

UNSEEN static void take_turn(unsigned line) {
    me.line = line;
    if (is_free)
        return;
    pass_turn();
    await_turn();
}

UNSEEN static void on_signal(int signal) {
    int code = errno;
    (void)signal;
    __atomic_store_n(&sleeper.is_parked, 1, __ATOMIC_RELEASE);
    await_turn();
    errno = code;
}

/* Stands before the wait itself. */
UNSEEN static void fall_asleep(pthread_mutex_t *mutex) {
    if (is_free)
        return;
    sleeper.thread = gettid();
    sleeper.is_parked = 0;
    sleeper.mutex = mutex;
    pass_turn();
}

/* Stands before the wait at a barrier. Only the last to arrive keeps the turn: its call lets the others go on. */
UNSEEN static void arrive(unsigned *arrived, unsigned most) {
    if (is_free)
        return;
    *arrived = (*arrived + 1) % most;
    if (*arrived != 0)
        pass_turn();
}

UNSEEN static void begin_thread(unsigned char index) { me.index = index; }

UNSEEN static void *end_thread(void) {
    pass_turn();
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELEASE);
    return 0;
}

/* The compiler must not move or merge accesses of plain variables, which are racy if the scenario is. */
#define BARRIER() __asm__ volatile("" : : : "memory")
#define TURN()                                                                                                        \
    do {                                                                                                              \
        BARRIER();                                                                                                    \
        take_turn(__LINE__);                                                                                          \
        BARRIER();                                                                                                    \
    } while (0)
/* Read and written in ways that the compiler does not know, or it would leave out accesses of what never changes. */
#define OBJECT static __attribute__((used))
#define ASSERT(condition, text)                                                                                       \
    do {                                                                                                              \
        if (!(condition))                                                                                             \
            assertion_failed(text);                                                                                   \
    } while (0)
/* The value was really read. */
#define KEEP(value) __asm__ volatile("" : : "r"(value) : "memory")

/* The call itself stands in the scenario's own code, where the monitor shall see it. */
#define FORK(thread, routine)                                                                                         \
    do {                                                                                                              \
        before_start();                                                                                               \
        if (pthread_create(&(thread).handle, 0, routine, 0) != 0)                                                     \
            no_thread();                                                                                              \
        after_start(&(thread));                                                                                       \
    } while (0)
#define JOIN(thread) pthread_join(handle_of(&(thread)), 0)

UNSEEN static void before_start(void) { __atomic_fetch_add(&started, 1, __ATOMIC_RELEASE); }

UNSEEN static void after_start(struct thread *thread) { __atomic_store_n(&thread->is_started, 1, __ATOMIC_RELEASE); }

/* Without an order, a join may come before the fork. */
UNSEEN static pthread_t handle_of(struct thread *thread) {
    unsigned rounds = 0;
    while (!value_of(&thread->is_started))
        rest(&rounds);
    return thread->handle;
}

UNSEEN static void no_thread(void) {
    begin_end();
    fprintf(stderr, "scenario: a thread cannot be created\n");
    exit(NO_THREAD);
}

UNSEEN static void assertion_failed(const char *text) {
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "%s\n", text);
}

/* Arithmetic wraps, and a division by zero is 0. */
UNSEEN static long add(long a, long b) { return (long)((unsigned long)a + (unsigned long)b); }
UNSEEN static long subtract(long a, long b) { return (long)((unsigned long)a - (unsigned long)b); }
UNSEEN static long multiply(long a, long b) { return (long)((unsigned long)a * (unsigned long)b); }
UNSEEN static long negate(long a) { return subtract(0, a); }
UNSEEN static long divide(long a, long b) { return b == 0 ? 0 : b == -1 ? negate(a) : a / b; }
UNSEEN static long modulo(long a, long b) { return b == 0 || b == -1 ? 0 : a % b; }

/* First thing in main. */
UNSEEN static void begin(const struct scenario *of, int count, char **arguments) {
    struct sigaction action;
    scenario = of;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "free") == 0) {
            is_free = 1;
        } else if (strcmp(arguments[i], "values") == 0) {
            shows_values = 1;
        } else {
            fprintf(stderr,
                    "usage: %s [free] [values]\n"
                    "  free    let the threads run as they like, not in the order of the scenario\n"
                    "  values  print the variables at the end\n",
                    arguments[0]);
            exit(WRONG_ARGUMENT);
        }
    }
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGUSR1, &action, 0);
}

/* All threads that nobody forks are created. */
UNSEEN static void open_order(void) { __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE); }

/* Stands in main if the order ends in a deadlock: nobody could be joined. */
UNSEEN static void end_in_deadlock(void (*print_values)(void)) {
    unsigned rounds = 0;
    if (is_free)
        return;
    while (value_of(&now) < scenario->steps || value_of(&settled) < scenario->begin)
        rest(&rounds);
    begin_end();
    fprintf(stderr, "scenario: all steps of the order are done; these threads can never go on: %s\n", scenario->stuck);
    if (shows_values)
        print_values();
    exit(DEADLOCK);
}

/* Nobody is left who could start or join another thread. */
UNSEEN static void await_all(void) {
    unsigned rounds = 0;
    for (;;) {
        /* In this order: who is not finished can start another one meanwhile. */
        unsigned ended = value_of(&finished);
        if (ended == value_of(&started))
            return;
        rest(&rounds);
    }
}

/* Last thing in main. */
UNSEEN static int end(void (*print_values)(void)) {
    if (shows_values)
        print_values();
    return value_of(&failures) > 0 ? ASSERTION_FAILED : DONE;
}
