/* What the C side and the Rust side of libavmon.so share. Everything here is private to the library. */
#ifndef AVMON_SHIM_H
#define AVMON_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* One function invocation on a thread's shadow stack. */
struct avmon_frame {
    uintptr_t inside; /* an address inside the function */
    uintptr_t call;   /* the return address in its caller */
    uintptr_t sp;     /* the stack pointer when it was entered: a longjmp pops by it */
};

/* How many addresses a thread can owe an Await for before it must emit them. */
#define AVMON_PENDING 8

/*
 * The hot state of a thread. It is C because a C variable can have the initial-exec model, in which it is one
 * %fs-relative access away; Rust's thread_local! in a shared library calls __tls_get_addr.
 * src/runtime/tls.rs mirrors this layout and asserts its size.
 *
 * The shadow stack: frames live in [base, top). The analysis knows those in [base, published), of which the ones
 * at and above `low` have been popped since. Frames above `end` are only counted in `overflow`.
 */
struct avmon_tls {
    struct avmon_frame *top;
    struct avmon_frame *low;
    struct avmon_frame *end;
    struct avmon_frame *base;
    struct avmon_frame *published;
    struct avmon_chunk *chunk; /* where the next event goes; its first word counts its events */
    uint64_t gate;             /* not 0: record nothing, see tls.rs for the bits */
    uint32_t owes;             /* not 0: a recording must say something before the next event */
    uint16_t branches;         /* basic blocks that were entered since the last recorded access */

    uint64_t overflow;
    uint32_t fenced; /* a release fence was executed: relaxed stores order too */
    uint32_t pending_count;
    uint32_t cancelled; /* set by the thread that cancels this one */
    uint32_t lost;      /* events dropped since the last one that was recorded */
    uint64_t pending[AVMON_PENDING];
    uint64_t deferred_lock; /* a mutex whose acquire may turn out not to be worth recording, or 0 */
    uint64_t deferred_pc;
    uint64_t deferred_number; /* of its stripe, if nobody touched that since */
    void *record;             /* the thread's entry in the registry */
    uint32_t os_thread_id;
    uint32_t written_size; /* how much was just written at `written` and is not told yet, in a recording with values */
    uint64_t written;
    uint64_t stack;     /* the lowest address of the thread's stack, if the recording was told of it */
    uint64_t told_time; /* by the processor's clock, when the recording was last told the time */
    void *fiber;        /* the fiber that runs on this thread, if the program uses fibers */
    void *seat;         /* what the thread waits on in a steered run */
} __attribute__((aligned(64)));

/* One event, and a chunk of them: src/event.rs and src/runtime/chunk.rs. */
struct avmon_event {
    uint64_t head, object, pc;
};

#define AVMON_CHUNK_EVENTS 2728
/* How many events ahead of the writer to ask for the memory. */
#define AVMON_PREFETCH 24

struct avmon_chunk {
    uint32_t published;
    uint32_t thread;
    uint32_t serial;
    struct avmon_event events[AVMON_CHUNK_EVENTS];
};

/* 1: everything that the program does is recorded, 2: with values. 0: only what the monitor needs. 3: the run is steered. */
enum { AVMON_STEERED = 3 };
extern uint32_t avmon_recording __attribute__((visibility("hidden")));

/* The bits of the gate that are the stack pointer of the hook at work. */
#define AVMON_BUSY UINT64_C(0x0000fffffffffff8)

/* What a thread without a chunk has: one that is always full, so that one comparison finds both. */
extern const uint32_t avmon_full_chunk __attribute__((visibility("hidden")));

extern __thread struct avmon_tls avmon_tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Codes of the events that C writes; src/interpose/tsan/access.rs asserts them. */
enum { AVMON_ENTER = 0, AVMON_LEAVE = 1, AVMON_READ = 17, AVMON_WRITE = 18 };

#define AVMON_LIKELY(x) __builtin_expect(!!(x), 1)
#define AVMON_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Keeps the hooks of a signal handler out of what follows; the caller saw that the gate is open. The address is one below the
 * hook's caller, so that a jump back into that caller is known to have left the hook.
 */
#define AVMON_SHUT_GATE(t)                                                                                            \
    do {                                                                                                              \
        (t)->gate = (uintptr_t)__builtin_dwarf_cfa() - sizeof(uintptr_t);                                             \
        __atomic_signal_fence(__ATOMIC_SEQ_CST);                                                                      \
    } while (0)

static inline void avmon_open_gate(struct avmon_tls *t) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    t->gate = 0;
}

/* Whether an event of a recording can simply be appended. */
static inline int avmon_is_ready(const struct avmon_tls *t) {
    return AVMON_LIKELY(t->chunk->published < AVMON_CHUNK_EVENTS) && AVMON_LIKELY(t->owes == 0);
}

/* Behind the shut gate, and with room. */
static inline void avmon_append(struct avmon_tls *t, uint64_t head, uint64_t object, uint64_t pc) {
    struct avmon_chunk *chunk = t->chunk;
    uint32_t index = chunk->published;
    struct avmon_event *event = &chunk->events[index];
    __asm__ volatile("prefetchw %0" : : "m"(event[AVMON_PREFETCH]));
    event->head = head;
    event->object = object;
    event->pc = pc;
    __atomic_store_n(&chunk->published, index + 1, __ATOMIC_RELEASE);
}

/* Rust side, called from C. None of them unwinds. */
#define AVMON_PRIVATE __attribute__((visibility("hidden")))
AVMON_PRIVATE int avmon_stack_begin(void);
AVMON_PRIVATE void avmon_hook_torn(void);
AVMON_PRIVATE int avmon_get_ready(void);
AVMON_PRIVATE void avmon_access_slowly(uint64_t head, uintptr_t address, uintptr_t pc);
AVMON_PRIVATE void avmon_access_refused(void);
AVMON_PRIVATE void avmon_volatile_read(uintptr_t address);
AVMON_PRIVATE void avmon_volatile_write(uintptr_t address, uintptr_t pc);
AVMON_PRIVATE void avmon_thread_begin(void *record);
AVMON_PRIVATE int avmon_wait_begin(void *lock, uintptr_t pc);
AVMON_PRIVATE void avmon_wait_end(void *condition, void *lock, int woken, int held, uintptr_t pc);
AVMON_PRIVATE uint64_t avmon_join_begin(uintptr_t thread, int is_endless, uintptr_t pc);
AVMON_PRIVATE void avmon_join_end(uint64_t id, uintptr_t pc);
AVMON_PRIVATE void avmon_cancel_begin(uintptr_t thread, uintptr_t pc);
AVMON_PRIVATE void avmon_signal(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_await(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_refused(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_after_read(int descriptor);
AVMON_PRIVATE void avmon_after_signal_wait(int signal);
AVMON_PRIVATE void avmon_resolve(void);
AVMON_PRIVATE uint32_t *avmon_steered_begin(void *condition, void *lock, int endless, uintptr_t pc);
/* Mirrored in pinned/deadline.rs. */
struct avmon_deadline {
    struct timespec until;
    int64_t passed;
};
AVMON_PRIVATE const struct timespec *avmon_deadline(int clock, const struct timespec *until,
                                                    struct avmon_deadline *place);
AVMON_PRIVATE void avmon_deadline_passed(const struct avmon_deadline *deadline);
AVMON_PRIVATE void avmon_before_sleep(const struct timespec *wait);
AVMON_PRIVATE int avmon_steered_is_asleep(void);
AVMON_PRIVATE int avmon_steered_end(void *condition, void *lock, int woken, uintptr_t pc);
AVMON_PRIVATE void avmon_steered_cancelled(void *lock, uintptr_t pc);
AVMON_PRIVATE int avmon_steered_semaphore(void *semaphore, uintptr_t pc);

/* Only start routine and argument are read here; the rest of the registry's entry is Rust's. */
struct avmon_start {
    void *(*routine)(void *);
    void *argument;
};

#endif
