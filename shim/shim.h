/* What the C side and the Rust side of libavmon.so share. Everything here is private to the library. */
#ifndef AVMON_SHIM_H
#define AVMON_SHIM_H

#include <stdint.h>

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
    uint64_t overflow;

    const void *chunk; /* where the next event goes; its first word counts its events */
    uint64_t gate;     /* not 0: record nothing, see tls.rs for the bits */
    uint32_t fenced;   /* a release fence was executed: relaxed stores order too */
    uint32_t pending_count;
    uint32_t cancelled; /* set by the thread that cancels this one */
    uint32_t lost;      /* events dropped since the last one that was recorded */
    uint64_t pending[AVMON_PENDING];
    uint64_t deferred_lock; /* a mutex whose acquire may turn out not to be worth recording, or 0 */
    uint64_t deferred_pc;
    uint64_t deferred_number; /* of its stripe, if nobody touched that since */
    void *record; /* the thread's entry in the registry */
    uint32_t os_thread_id;
    void *fiber;   /* the fiber that runs on this thread, if the program uses fibers */
};

/* The bits of the gate that are the stack pointer of the hook at work. */
#define AVMON_BUSY UINT64_C(0x0000fffffffffff8)

/* What a thread without a chunk has: one that is always full, so that one comparison finds both. */
extern const uint32_t avmon_full_chunk __attribute__((visibility("hidden")));

extern __thread struct avmon_tls avmon_tls __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Rust side, called from C. None of them unwinds. */
#define AVMON_PRIVATE __attribute__((visibility("hidden")))
AVMON_PRIVATE int avmon_stack_begin(void);
AVMON_PRIVATE void avmon_hook_torn(void);
AVMON_PRIVATE void avmon_thread_begin(void *record);
AVMON_PRIVATE int avmon_wait_begin(void *lock, uintptr_t pc);
AVMON_PRIVATE void avmon_wait_end(void *condition, void *lock, int woken, int held, uintptr_t pc);
AVMON_PRIVATE uint64_t avmon_join_begin(uintptr_t thread);
AVMON_PRIVATE void avmon_join_end(uint64_t id, uintptr_t pc);
AVMON_PRIVATE void avmon_cancel_begin(uintptr_t thread, uintptr_t pc);
AVMON_PRIVATE void avmon_signal(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_await(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_refused(const void *object, uintptr_t pc);
AVMON_PRIVATE void avmon_after_read(int descriptor);
AVMON_PRIVATE void avmon_after_signal_wait(int signal);
AVMON_PRIVATE void avmon_resolve(void);

/* Only start routine and argument are read here; the rest of the registry's entry is Rust's. */
struct avmon_start {
    void *(*routine)(void *);
    void *argument;
};

#endif
