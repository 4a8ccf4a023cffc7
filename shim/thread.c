/* Runs in the program's threads: the hot thread state, function entry and exit, and the start of a thread. */
#include "shim.h"

#include <stddef.h>

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

const uint32_t avmon_full_chunk = UINT32_MAX;

__thread struct avmon_tls avmon_tls = {.chunk = &avmon_full_chunk};

_Static_assert(sizeof(struct avmon_frame) == 24, "mirrored in tls.rs");
_Static_assert(sizeof(struct avmon_tls) == 192, "mirrored in tls.rs");

static inline void push(struct avmon_frame *frame, uintptr_t inside, uintptr_t call, uintptr_t sp) {
    frame->inside = inside;
    frame->call = call;
    frame->sp = sp;
    avmon_tls.top = frame + 1;
}

/* No room: the thread's first call, when avmon_stack_begin finds it a stack, or a call too deep to keep. */
static __attribute__((noinline)) void deep_entry(uintptr_t inside, uintptr_t call, uintptr_t sp) {
    struct avmon_tls *t = &avmon_tls;
    if (t->base != NULL) {
        t->overflow++;
        /* Above every frame, so that the next exit takes the slow way and counts down instead of popping. */
        t->low = t->end + 1;
    } else if (avmon_stack_begin()) {
        push(t->top, inside, call, sp);
    }
}

AVMON_PRIVATE void avmon_func_entry(uintptr_t call) {
    struct avmon_frame *frame = avmon_tls.top;
    uintptr_t inside = (uintptr_t)__builtin_return_address(0), sp = (uintptr_t)__builtin_dwarf_cfa();
    if (UNLIKELY(frame == avmon_tls.end))
        deep_entry(inside, call, sp);
    else
        push(frame, inside, call, sp);
}

/* A pop below `low`, which is rare: most functions do not synchronise, and leave `low` at or under their frame. */
static __attribute__((noinline)) void low_exit(void) {
    struct avmon_tls *t = &avmon_tls;
    if (t->overflow != 0) {
        if (--t->overflow == 0)
            t->low = t->base; /* what was popped before the overflow is no longer known: all of it, to be safe */
        return;
    }
    if (t->top == t->base)
        return; /* an exit without its entry: the thread was adopted in the middle of a function */
    t->top--;
    if (t->low > t->top)
        t->low = t->top;
}

AVMON_PRIVATE void avmon_func_exit(void) {
    struct avmon_frame *top = avmon_tls.top;
    if (UNLIKELY(top <= avmon_tls.low)) {
        low_exit();
        return;
    }
    avmon_tls.top = top - 1;
}

/*
 * A longjmp leaves functions without their exit hooks. glibc keeps the target's stack pointer in slot 6 of the
 * jmp_buf, xored with the thread's pointer guard and rotated; every frame below it is gone after the jump.
 */
AVMON_PRIVATE void avmon_before_longjmp(const uintptr_t *environment) {
    uintptr_t sp = environment[6];
    __asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(sp) : : "cc");
    struct avmon_tls *t = &avmon_tls;
    while (t->overflow != 0)
        avmon_func_exit(); /* the frames that were too deep to keep are the innermost ones */
    while (t->top != t->base && t->top[-1].sp < sp)
        avmon_func_exit();
    /* A signal interrupted a hook, and its handler jumps out of it: nobody else will open the gate. */
    if ((t->gate & AVMON_BUSY) != 0 && (t->gate & AVMON_BUSY) < sp) {
        t->gate &= ~AVMON_BUSY;
        avmon_hook_torn();
    }
}

/*
 * In C, so that a forced unwind (pthread_exit, pthread_cancel) and a C++ exception pass through: a Rust frame here
 * would end the process. The end of the thread is seen by the destructor of a thread-specific key, not here.
 */
AVMON_PRIVATE void *avmon_trampoline(void *record) {
    struct avmon_start start = *(struct avmon_start *)record;
    avmon_thread_begin(record);
    return start.routine(start.argument);
}

AVMON_PRIVATE int avmon_trampoline_c11(void *record) {
    struct avmon_start start = *(struct avmon_start *)record;
    avmon_thread_begin(record);
    /* What the program gave to thrd_create, kept as a pthread routine; the detour by void (*)(void) is the cast
     * that compilers accept. */
    return ((int (*)(void *))(void (*)(void))start.routine)(start.argument);
}
