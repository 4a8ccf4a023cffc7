/* avmon.h: tell the monitor what it cannot see by itself.
 *
 * Header only, C99 and C++11, gcc and clang. There is nothing to link: the functions are looked up in the running
 * program at their first use, and if the monitor is not there every macro is a test of one variable.
 *
 *   AVMON_ATOMIC_BEGIN("transfer");        this block is meant to be atomic
 *   ...
 *   AVMON_ATOMIC_END();                    every path out of the block must come here
 *
 *   avmon::atomic_block guard("transfer"); the same for a C++ scope, exceptions included
 *
 * A label must live as long as the program: a string literal does.
 *
 *   AVMON_ATOMIC int get(void) { ... }     each call of this function is meant to be atomic: for 'avmon lint' only
 *
 * A lock that is not made of pthread functions:
 *
 *   AVMON_LOCK_CREATED(lock)               where its life begins; not needed for a static one
 *   AVMON_LOCK_ACQUIRED(lock)              right after it was taken, alone
 *   AVMON_LOCK_ACQUIRED_SHARED(lock)       right after it was taken, together with other readers
 *   AVMON_LOCK_RELEASING(lock)             right before it is given back
 *   AVMON_LOCK_RELEASING_SHARED(lock)
 *   AVMON_LOCK_DESTROYED(lock)
 *   AVMON_LOCK_CODE_BEGIN(), AVMON_LOCK_CODE_END()
 *                                          around the lock's own code, if that is instrumented or uses pthread
 *                                          functions: what it does with them is not seen. The marks above go outside
 *
 * A wait for another thread that is not made of pthread functions:
 *
 *   AVMON_SIGNAL(object)                   right before the other thread is let go
 *   AVMON_AWAIT(object)                    right after the wait
 *   AVMON_INTERFERENCE()                   here other threads are meant to run: open blocks end and begin again
 */
#ifndef AVMON_H
#define AVMON_H

#include <dlfcn.h>

/* Before glibc 2.34 dlsym was in a library of its own. Weak: a program without that library links too, and is then
 * monitored without these marks. */
#pragma weak dlsym

/* What a function's slot points to when the monitor is not there. */
static __attribute__((unused)) char avmon_absent;

/* A weak reference to the function itself would not do: in a program linked with -no-pie the linker makes it null
 * for good. The null handle is RTLD_DEFAULT, which C hides without _GNU_SOURCE. */
static __attribute__((unused, noinline, cold)) void *avmon_look_up(void **slot, const char *name) {
    void *found = dlsym ? dlsym((void *)0, name) : (void *)0;
    if (!found)
        found = &avmon_absent;
    /* Like the load below: a relaxed atomic access, in a way that compilers do not take for one of the program's. Else two
     * blocks that look up the same function would conflict. */
    __asm__ volatile("movq %1, %0" : "=m"(*slot) : "r"(found));
    return found;
}

/* Every call is made from the place of the mark itself, never from a function of this header: the monitor tells places
 * apart by their return address. Hence always_inline, which also holds without optimisation. All functions are called
 * with two arguments, as x86-64 allows; each looks at those that it has. The union turns what dlsym found into a
 * function, which C has no other clean way to say. */
#define AVMON_DEFINE(name, object_type)                                                                               \
    static inline __attribute__((always_inline, unused)) void avmon_mark_##name(object_type object, int shared) {     \
        static void *slot;                                                                                            \
        union {                                                                                                       \
            void *found;                                                                                              \
            void (*function)(object_type, int);                                                                       \
        } mark;                                                                                                       \
        __asm__ volatile("movq %1, %0" : "=r"(mark.found) : "m"(slot));                                                \
        if (__builtin_expect(!mark.found, 0))                                                                         \
            mark.found = avmon_look_up(&slot, "avmon_" #name);                                                        \
        if (mark.found != &avmon_absent)                                                                              \
            mark.function(object, shared);                                                                            \
    }

AVMON_DEFINE(block_begin, const char *)
AVMON_DEFINE(block_end, volatile void *)
AVMON_DEFINE(lock_created, volatile void *)
AVMON_DEFINE(lock_destroyed, volatile void *)
AVMON_DEFINE(lock_code_begin, volatile void *)
AVMON_DEFINE(lock_code_end, volatile void *)
AVMON_DEFINE(lock_acquired, volatile void *)
AVMON_DEFINE(lock_releasing, volatile void *)
AVMON_DEFINE(order_signal, volatile void *)
AVMON_DEFINE(order_await, volatile void *)
AVMON_DEFINE(interference, volatile void *)

#undef AVMON_DEFINE

#ifdef __clang__
#define AVMON_ATOMIC __attribute__((annotate("avmon_atomic")))
#else
#define AVMON_ATOMIC
#endif
#define AVMON_ATOMIC_BEGIN(label) avmon_mark_block_begin((label), 0)
#define AVMON_ATOMIC_END() avmon_mark_block_end((void *)0, 0)
#define AVMON_LOCK_CREATED(lock) avmon_mark_lock_created((lock), 0)
#define AVMON_LOCK_DESTROYED(lock) avmon_mark_lock_destroyed((lock), 0)
#define AVMON_LOCK_CODE_BEGIN() avmon_mark_lock_code_begin((void *)0, 0)
#define AVMON_LOCK_CODE_END() avmon_mark_lock_code_end((void *)0, 0)
#define AVMON_LOCK_ACQUIRED(lock) avmon_mark_lock_acquired((lock), 0)
#define AVMON_LOCK_ACQUIRED_SHARED(lock) avmon_mark_lock_acquired((lock), 1)
#define AVMON_LOCK_RELEASING(lock) avmon_mark_lock_releasing((lock), 0)
#define AVMON_LOCK_RELEASING_SHARED(lock) avmon_mark_lock_releasing((lock), 1)
#define AVMON_SIGNAL(object) avmon_mark_order_signal((object), 0)
#define AVMON_AWAIT(object) avmon_mark_order_await((object), 0)
#define AVMON_INTERFERENCE() avmon_mark_interference((void *)0, 0)

#ifdef __cplusplus
namespace avmon {

/* The scope of this object is meant to be atomic. */
class atomic_block {
  public:
    __attribute__((always_inline)) explicit atomic_block(const char *label) { AVMON_ATOMIC_BEGIN(label); }
    __attribute__((always_inline)) ~atomic_block() { AVMON_ATOMIC_END(); }
    atomic_block(const atomic_block &) = delete;
    atomic_block &operator=(const atomic_block &) = delete;
};

} /* namespace avmon */
#endif

#endif
