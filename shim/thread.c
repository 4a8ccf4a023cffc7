/* Runs in the program's threads: the hot thread state, function entry and exit, and the start of a thread. */
#include "shim.h"

const uint32_t avmon_full_chunk = UINT32_MAX;

uint32_t avmon_recording;

/* Whatever a thread did before its first event of a recording is still to be said. */
__thread struct avmon_tls avmon_tls = {.chunk = (struct avmon_chunk *)&avmon_full_chunk, .owes = 1};

_Static_assert(sizeof(struct avmon_frame) == 24, "mirrored in tls.rs");
_Static_assert(sizeof(struct avmon_tls) == 256, "mirrored in tls.rs");
_Static_assert(offsetof(struct avmon_chunk, events) == 16, "mirrored in chunk.rs");

static inline void fill(struct avmon_frame *frame, uintptr_t inside, uintptr_t call, uintptr_t sp) {
    frame->inside = inside;
    frame->call = call;
    frame->sp = sp;
}

static inline void push(struct avmon_frame *frame, uintptr_t inside, uintptr_t call, uintptr_t sp) {
    fill(frame, inside, call, sp);
    avmon_tls.top = frame + 1;
}

/* No room: the thread's first call, when avmon_stack_begin finds it a stack, or a call too deep to keep. */
static __attribute__((noinline)) void deep_entry(uintptr_t inside, uintptr_t call, uintptr_t sp) {
    struct avmon_tls *t = &avmon_tls;
    if (t->base != NULL) {
        t->overflow++;
        /* With `low` here the next exit takes the slow way, and counts down instead of popping. Above every frame it also
         * says that what was popped before is no longer known; unless nothing was. */
        if (t->low != t->end)
            t->low = t->end + 1;
    } else if (avmon_stack_begin()) {
        push(t->top, inside, call, sp);
    }
}

static inline void enter(uintptr_t inside, uintptr_t call, uintptr_t sp) {
    struct avmon_frame *frame = avmon_tls.top;
    if (AVMON_UNLIKELY(frame == avmon_tls.end))
        deep_entry(inside, call, sp);
    else
        push(frame, inside, call, sp);
}

/*
 * The stack pointer at the function's begin, before it made room for its variables. Its return address is there, some words
 * above; an older copy of that on the way, or giving up, makes the function's part of the stack look smaller than it is.
 */
static inline uintptr_t sp_at_entry(uintptr_t call, uintptr_t sp) {
    const uintptr_t *word = (const uintptr_t *)sp;
    for (int i = 0; i < 24; i++)
        if (word[i] == call)
            return (uintptr_t)(word + i + 1);
    return sp;
}

/* An entry or exit that cannot be recorded now is told before the next event. */
AVMON_PRIVATE void avmon_record_entry(uintptr_t call) {
    uintptr_t inside = (uintptr_t)__builtin_return_address(0), sp = (uintptr_t)__builtin_dwarf_cfa();
    struct avmon_tls *t = &avmon_tls;
    struct avmon_frame *frame = t->top;
    if (AVMON_UNLIKELY(t->gate != 0 || frame == t->end)) {
        enter(inside, call, sp);
        t->owes = 1;
        return;
    }
    AVMON_SHUT_GATE(t);
    int ready = avmon_is_ready(t) || avmon_get_ready();
    /* On the stack before it is filled: a signal handler pushes its own frames above it. */
    t->top = frame + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    fill(frame, inside, call, sp);
    if (AVMON_LIKELY(ready)) {
        uint64_t depth = (uint64_t)(frame - t->base);
        uint64_t place = sp_at_entry(call, sp) >> 4 & 0xfffffff;
        avmon_append(t, AVMON_ENTER | depth << 16 | place << 36, inside, call);
        t->low = t->published = frame + 1;
    } else {
        t->owes = 1;
    }
    avmon_open_gate(t);
}

AVMON_PRIVATE void avmon_func_entry(uintptr_t call) {
    enter((uintptr_t)__builtin_return_address(0), call, (uintptr_t)__builtin_dwarf_cfa());
}

/* A pop below `low`, which is rare: most functions do not synchronise, and leave `low` at or under their frame. */
static __attribute__((noinline)) void low_exit(void) {
    struct avmon_tls *t = &avmon_tls;
    if (t->overflow != 0) {
        if (--t->overflow == 0 && t->low > t->end)
            t->low = t->base; /* what was popped before the overflow is no longer known: all of it, to be safe */
        return;
    }
    if (t->top == t->base)
        return; /* an exit without its entry: the thread was adopted in the middle of a function */
    t->top--;
    if (t->low > t->top)
        t->low = t->top;
}

static inline void leave(void) {
    struct avmon_frame *top = avmon_tls.top;
    if (AVMON_UNLIKELY(top <= avmon_tls.low))
        low_exit();
    else
        avmon_tls.top = top - 1;
}

AVMON_PRIVATE void avmon_record_exit(void) {
    struct avmon_tls *t = &avmon_tls;
    struct avmon_frame *top = t->top;
    if (AVMON_UNLIKELY(t->gate != 0 || t->overflow != 0 || top == t->base)) {
        leave();
        t->owes = 1;
        return;
    }
    AVMON_SHUT_GATE(t);
    if (AVMON_LIKELY(avmon_is_ready(t)) || avmon_get_ready()) {
        avmon_append(t, AVMON_LEAVE | (uint64_t)(top - 1 - t->base) << 16, 0, 0);
        t->top = t->low = t->published = top - 1;
    } else {
        leave();
        t->owes = 1;
    }
    avmon_open_gate(t);
}

AVMON_PRIVATE void avmon_func_exit(void) { leave(); }

/*
 * A longjmp leaves functions without their exit hooks. glibc keeps the target's stack pointer in slot 6 of the
 * jmp_buf, xored with the thread's pointer guard and rotated; every frame below it is gone after the jump.
 */
AVMON_PRIVATE void avmon_before_longjmp(const uintptr_t *environment) {
    uintptr_t sp = environment[6];
    __asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r"(sp) : : "cc");
    struct avmon_tls *t = &avmon_tls;
    while (t->overflow != 0)
        leave(); /* the frames that were too deep to keep are the innermost ones */
    while (t->top != t->base && t->top[-1].sp < sp)
        leave();
    t->owes = 1;
    /* A signal interrupted a hook, and its handler jumps out of it: nobody else will open the gate. */
    if ((t->gate & AVMON_BUSY) != 0 && (t->gate & AVMON_BUSY) < sp) {
        t->low = t->base; /* it may have been in the middle of telling of a frame */
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
