/* The stub library: what instrumented programs are linked with, so that they run without avmon.
 *
 * It defines every name of the hooks in libavmon.so; preloaded, that one comes first and its hooks are called instead.
 * It must be a shared library: a hook inside the executable would win over the preloaded one. It is linked with nothing,
 * so that it adds nothing to a program but itself.
 */
#include <stddef.h>
#include <stdint.h>

/* All hooks without an effect are one instruction, under many names. */
__asm__(".text\n"
        ".balign 16\n"
        ".type avmon_nothing, @function\n"
        "avmon_nothing: ret\n"
        ".size avmon_nothing, . - avmon_nothing\n"
        ".balign 16\n"
        ".type avmon_zero, @function\n"
        "avmon_zero: xorl %eax, %eax\n"
        "ret\n"
        ".size avmon_zero, . - avmon_zero\n");

#define ALIAS(name, target) \
    __asm__(".globl " #name "\n.type " #name ", @function\n.set " #name ", " #target "\n");
#define NOTHING(name) ALIAS(name, avmon_nothing)
#define ZERO(name) ALIAS(name, avmon_zero)

/* Functions that the program calls through us: jumps to the real ones. Weak: a program without a C library links too. */
#define WRAPPED(name)                                                                                                 \
    __asm__(".weak " #name "\n.globl __wrap_" #name "\n.type __wrap_" #name ", @function\n__wrap_" #name              \
            ": jmp *" #name "@GOTPCREL(%rip)\n");

WRAPPED(memcpy)
WRAPPED(memmove)
WRAPPED(mempcpy)
WRAPPED(memset)
WRAPPED(memcmp)
WRAPPED(memchr)
WRAPPED(strlen)
WRAPPED(strnlen)
WRAPPED(strcpy)
WRAPPED(stpcpy)
WRAPPED(strncpy)
WRAPPED(strcat)
WRAPPED(strncat)
WRAPPED(strcmp)
WRAPPED(strncmp)
WRAPPED(strchr)
WRAPPED(strrchr)
WRAPPED(strstr)
WRAPPED(strdup)
WRAPPED(strndup)
WRAPPED(__memcpy_chk)
WRAPPED(__memmove_chk)
WRAPPED(__mempcpy_chk)
WRAPPED(__memset_chk)
WRAPPED(__strcpy_chk)
WRAPPED(__stpcpy_chk)
WRAPPED(__strncpy_chk)
WRAPPED(__strcat_chk)
WRAPPED(__strncat_chk)

NOTHING(__tsan_func_entry)
NOTHING(__tsan_func_exit)
NOTHING(__tsan_init)
NOTHING(__tsan_read1)
NOTHING(__tsan_read2)
NOTHING(__tsan_read4)
NOTHING(__tsan_read8)
NOTHING(__tsan_read16)
NOTHING(__tsan_write1)
NOTHING(__tsan_write2)
NOTHING(__tsan_write4)
NOTHING(__tsan_write8)
NOTHING(__tsan_write16)
NOTHING(__tsan_unaligned_read2)
NOTHING(__tsan_unaligned_read4)
NOTHING(__tsan_unaligned_read8)
NOTHING(__tsan_unaligned_read16)
NOTHING(__tsan_unaligned_write2)
NOTHING(__tsan_unaligned_write4)
NOTHING(__tsan_unaligned_write8)
NOTHING(__tsan_unaligned_write16)
NOTHING(__tsan_read_write1)
NOTHING(__tsan_read_write2)
NOTHING(__tsan_read_write4)
NOTHING(__tsan_read_write8)
NOTHING(__tsan_read_write16)
NOTHING(__tsan_unaligned_read_write2)
NOTHING(__tsan_unaligned_read_write4)
NOTHING(__tsan_unaligned_read_write8)
NOTHING(__tsan_unaligned_read_write16)
NOTHING(__tsan_read1_pc)
NOTHING(__tsan_read2_pc)
NOTHING(__tsan_read4_pc)
NOTHING(__tsan_read8_pc)
NOTHING(__tsan_read16_pc)
NOTHING(__tsan_write1_pc)
NOTHING(__tsan_write2_pc)
NOTHING(__tsan_write4_pc)
NOTHING(__tsan_write8_pc)
NOTHING(__tsan_write16_pc)
NOTHING(__tsan_read_range)
NOTHING(__tsan_write_range)
NOTHING(__tsan_read_range_pc)
NOTHING(__tsan_write_range_pc)
NOTHING(__tsan_vptr_read)
NOTHING(__tsan_vptr_update)
NOTHING(__tsan_external_read)
NOTHING(__tsan_external_write)
NOTHING(__tsan_volatile_read1)
NOTHING(__tsan_volatile_read2)
NOTHING(__tsan_volatile_read4)
NOTHING(__tsan_volatile_read8)
NOTHING(__tsan_volatile_read16)
NOTHING(__tsan_volatile_write1)
NOTHING(__tsan_volatile_write2)
NOTHING(__tsan_volatile_write4)
NOTHING(__tsan_volatile_write8)
NOTHING(__tsan_volatile_write16)
NOTHING(__tsan_unaligned_volatile_read2)
NOTHING(__tsan_unaligned_volatile_read4)
NOTHING(__tsan_unaligned_volatile_read8)
NOTHING(__tsan_unaligned_volatile_read16)
NOTHING(__tsan_unaligned_volatile_write2)
NOTHING(__tsan_unaligned_volatile_write4)
NOTHING(__tsan_unaligned_volatile_write8)
NOTHING(__tsan_unaligned_volatile_write16)
NOTHING(__sanitizer_cov_trace_pc)
NOTHING(__sanitizer_cov_trace_pc_indir)
NOTHING(__sanitizer_cov_trace_pc_guard)
NOTHING(__sanitizer_cov_trace_pc_guard_init)
NOTHING(__sanitizer_cov_8bit_counters_init)
NOTHING(__sanitizer_cov_bool_flag_init)
NOTHING(__sanitizer_cov_pcs_init)
NOTHING(__sanitizer_cov_trace_cmp)
NOTHING(__sanitizer_cov_trace_cmp1)
NOTHING(__sanitizer_cov_trace_cmp2)
NOTHING(__sanitizer_cov_trace_cmp4)
NOTHING(__sanitizer_cov_trace_cmp8)
NOTHING(__sanitizer_cov_trace_const_cmp1)
NOTHING(__sanitizer_cov_trace_const_cmp2)
NOTHING(__sanitizer_cov_trace_const_cmp4)
NOTHING(__sanitizer_cov_trace_const_cmp8)
NOTHING(__sanitizer_cov_trace_cmpf)
NOTHING(__sanitizer_cov_trace_cmpd)
NOTHING(__sanitizer_cov_trace_switch)
NOTHING(__sanitizer_cov_trace_div4)
NOTHING(__sanitizer_cov_trace_div8)
NOTHING(__sanitizer_cov_trace_gep)
NOTHING(__sanitizer_cov_load1)
NOTHING(__sanitizer_cov_load2)
NOTHING(__sanitizer_cov_load4)
NOTHING(__sanitizer_cov_load8)
NOTHING(__sanitizer_cov_load16)
NOTHING(__sanitizer_cov_store1)
NOTHING(__sanitizer_cov_store2)
NOTHING(__sanitizer_cov_store4)
NOTHING(__sanitizer_cov_store8)
NOTHING(__sanitizer_cov_store16)
NOTHING(__tsan_acquire)
NOTHING(__tsan_release)
NOTHING(__tsan_mutex_create)
NOTHING(__tsan_mutex_destroy)
NOTHING(__tsan_mutex_pre_lock)
NOTHING(__tsan_mutex_post_lock)
NOTHING(__tsan_mutex_post_unlock)
NOTHING(__tsan_mutex_pre_signal)
NOTHING(__tsan_mutex_post_signal)
NOTHING(__tsan_mutex_pre_divert)
NOTHING(__tsan_mutex_post_divert)
NOTHING(__tsan_ignore_thread_begin)
NOTHING(__tsan_ignore_thread_end)
NOTHING(__tsan_destroy_fiber)
NOTHING(__tsan_switch_to_fiber)
NOTHING(__tsan_set_fiber_name)
NOTHING(__tsan_java_init)
NOTHING(__tsan_java_alloc)
NOTHING(__tsan_java_free)
NOTHING(__tsan_java_move)
NOTHING(__tsan_java_finalize)
NOTHING(__tsan_java_acquire)
NOTHING(__tsan_java_release)
NOTHING(__tsan_java_release_store)
NOTHING(__tsan_java_mutex_lock)
NOTHING(__tsan_java_mutex_unlock)
NOTHING(__tsan_java_mutex_read_lock)
NOTHING(__tsan_java_mutex_read_unlock)
NOTHING(__tsan_java_mutex_lock_rec)
NOTHING(AnnotateHappensBefore)
NOTHING(AnnotateHappensAfter)
NOTHING(WTFAnnotateHappensBefore)
NOTHING(WTFAnnotateHappensAfter)
NOTHING(AnnotateCondVarSignal)
NOTHING(AnnotateCondVarSignalAll)
NOTHING(AnnotateCondVarWait)
NOTHING(AnnotatePCQPut)
NOTHING(AnnotatePCQGet)
NOTHING(AnnotatePCQCreate)
NOTHING(AnnotatePCQDestroy)
NOTHING(AnnotateRWLockCreate)
NOTHING(AnnotateRWLockCreateStatic)
NOTHING(AnnotateRWLockDestroy)
NOTHING(AnnotateRWLockAcquired)
NOTHING(AnnotateRWLockReleased)
NOTHING(AnnotateThreadName)
NOTHING(AnnotateMutexIsNotPHB)
NOTHING(AnnotateMutexIsUsedAsCondVar)
NOTHING(AnnotateBenignRace)
NOTHING(AnnotateBenignRaceSized)
NOTHING(WTFAnnotateBenignRaceSized)
NOTHING(AnnotateEnableRaceDetection)
NOTHING(AnnotateExpectRace)
NOTHING(AnnotateFlushExpectedRaces)
NOTHING(AnnotateFlushState)
NOTHING(AnnotateIgnoreReadsBegin)
NOTHING(AnnotateIgnoreReadsEnd)
NOTHING(AnnotateIgnoreWritesBegin)
NOTHING(AnnotateIgnoreWritesEnd)
NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotateMemoryIsInitialized)
NOTHING(AnnotateMemoryIsUninitialized)
NOTHING(AnnotateNewMemory)
NOTHING(AnnotateNoOp)
NOTHING(AnnotatePublishMemoryRange)
NOTHING(AnnotateUnpublishMemoryRange)
NOTHING(AnnotateTraceMemory)
NOTHING(__tsan_flush_memory)
NOTHING(__tsan_on_thread_idle)
NOTHING(__tsan_external_register_header)
NOTHING(__tsan_external_assign_tag)

/* Questions: the answer is nothing. */
ZERO(__tsan_java_fini)
ZERO(__tsan_java_find)
ZERO(__tsan_get_current_report)
ZERO(__tsan_get_report_data)
ZERO(__tsan_get_report_tag)
ZERO(__tsan_get_report_stack)
ZERO(__tsan_get_report_mop)
ZERO(__tsan_get_report_loc)
ZERO(__tsan_get_report_loc_object_type)
ZERO(__tsan_get_report_mutex)
ZERO(__tsan_get_report_thread)
ZERO(__tsan_get_report_unique_tid)
ZERO(__tsan_describe_mop)
ZERO(__tsan_describe_loc)
ZERO(__tsan_describe_mutex)
ZERO(__tsan_describe_thread)
ZERO(__tsan_locate_address)
ZERO(__tsan_get_alloc_stack)

void *__tsan_external_register_tag(const char *name) { return (void *)name; }

/* The number of levels of a re-entrant lock that were released. */
int __tsan_mutex_pre_unlock(void *lock, unsigned flags) { return 1; }
int __tsan_java_mutex_unlock_rec(unsigned long lock) { return 1; }

/* Fibers are only ever compared with null and passed back. */
static char fiber;
void *__tsan_get_current_fiber(void) { return &fiber; }
void *__tsan_create_fiber(unsigned flags) { return &fiber; }

/* Weak: a program without a C library links too, and does not copy. */
extern void *memcpy(void *, const void *, size_t) __attribute__((weak));
extern void *memmove(void *, const void *, size_t) __attribute__((weak));
extern void *memset(void *, int, size_t) __attribute__((weak));
void *__tsan_memcpy(void *to, const void *from, size_t size) { return memcpy(to, from, size); }
void *__tsan_memmove(void *to, const void *from, size_t size) { return memmove(to, from, size); }
void *__tsan_memset(void *to, int byte, size_t size) { return memset(to, byte, size); }

/* Atomics. A locked instruction of x86-64 is sequentially consistent whatever order was asked for, and so is a load;
 * only a store has a cheaper form. */
enum { SEQ_CST = 5 };

#define UPDATE(bits, name, builtin)                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t value, int order) {        \
        return builtin(at, value, __ATOMIC_SEQ_CST);                                                                  \
    }

#define WIDTH(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order) {                          \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                                 \
    }                                                                                                                 \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order) {                   \
        if ((uint16_t)order >= SEQ_CST)                                                                               \
            __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                            \
        else                                                                                                          \
            __atomic_store_n(at, value, __ATOMIC_RELEASE);                                                            \
    }                                                                                                                 \
    UPDATE(bits, exchange, __atomic_exchange_n)                                                                       \
    UPDATE(bits, fetch_add, __atomic_fetch_add)                                                                       \
    UPDATE(bits, fetch_sub, __atomic_fetch_sub)                                                                       \
    UPDATE(bits, fetch_and, __atomic_fetch_and)                                                                       \
    UPDATE(bits, fetch_or, __atomic_fetch_or)                                                                         \
    UPDATE(bits, fetch_xor, __atomic_fetch_xor)                                                                       \
    UPDATE(bits, fetch_nand, __atomic_fetch_nand)                                                                     \
    COMPARE_EXCHANGE(bits)

#define COMPARE_EXCHANGE(bits)                                                                                        \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *at, uint##bits##_t expected,    \
                                                              uint##bits##_t value, int order, int failure) {         \
        return __sync_val_compare_and_swap(at, expected, value);                                                      \
    }                                                                                                                 \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *at, uint##bits##_t *expected,           \
                                                      uint##bits##_t value, int order, int failure) {                 \
        uint##bits##_t wanted = *expected;                                                                            \
        *expected = __sync_val_compare_and_swap(at, wanted, value);                                                   \
        return *expected == wanted;                                                                                   \
    }                                                                                                                 \
    ALIAS(__tsan_atomic##bits##_compare_exchange_weak, __tsan_atomic##bits##_compare_exchange_strong)

WIDTH(8)
WIDTH(16)
WIDTH(32)
WIDTH(64)

/* The processor's only atomic access of 128 bits that all models promise is compare and exchange. */
typedef unsigned __int128 uint128_t;
COMPARE_EXCHANGE(128)

uint128_t __tsan_atomic128_load(const volatile uint128_t *at, int order) {
    return __sync_val_compare_and_swap((volatile uint128_t *)at, 0, 0);
}

#define UPDATE_128(name, new_value)                                                                                   \
    uint128_t __tsan_atomic128_##name(volatile uint128_t *at, uint128_t value, int order) {                            \
        uint128_t old = __tsan_atomic128_load(at, order);                                                             \
        for (;;) {                                                                                                    \
            uint128_t seen = __sync_val_compare_and_swap(at, old, new_value);                                         \
            if (seen == old)                                                                                          \
                return old;                                                                                           \
            old = seen;                                                                                               \
        }                                                                                                             \
    }

UPDATE_128(exchange, value)
UPDATE_128(fetch_add, old + value)
UPDATE_128(fetch_sub, old - value)
UPDATE_128(fetch_and, old & value)
UPDATE_128(fetch_or, old | value)
UPDATE_128(fetch_xor, old ^ value)
UPDATE_128(fetch_nand, ~(old & value))

void __tsan_atomic128_store(volatile uint128_t *at, uint128_t value, int order) {
    __tsan_atomic128_exchange(at, value, order);
}

void __tsan_atomic_thread_fence(int order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
NOTHING(__tsan_atomic_signal_fence)
