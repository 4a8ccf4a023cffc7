/*
 * Runs in the program's threads: plain memory accesses. In a recording each is an event in the thread's chunk; without one
 * its hook returns before it comes here, except for volatile accesses.
 */
#include "shim.h"

/* Details of an access; src/interpose/tsan/access.rs asserts them. */
enum { PLAIN = 0, VOLATILE = 1, VPTR = 2, UNALIGNED = 4, RANGE = 8 };

#define CALLER ((uintptr_t)__builtin_return_address(0))

static inline uint64_t head_of(uint64_t kind, uint64_t detail, uint64_t size) {
    return kind | detail << 8 | size << 16;
}

/* The basic blocks since the last access go with this one. */
static inline uint64_t take_branches(struct avmon_tls *t) {
    uint64_t branches = t->branches;
    t->branches = 0;
    return branches << 48;
}

static inline __attribute__((always_inline)) void access(uint64_t head, uintptr_t address, uintptr_t pc) {
    struct avmon_tls *t = &avmon_tls;
    if (AVMON_UNLIKELY(t->gate != 0)) {
        avmon_access_refused();
        return;
    }
    AVMON_SHUT_GATE(t);
    head |= take_branches(t);
    if (AVMON_LIKELY(avmon_is_ready(t))) {
        avmon_append(t, head, address, pc);
        avmon_open_gate(t);
    } else {
        avmon_access_slowly(head, address, pc);
    }
}

/* More than four gigabytes at once are told as that much. */
static inline __attribute__((always_inline)) void range(uint64_t kind, uint64_t detail, uintptr_t address,
                                                        uintptr_t size, uintptr_t pc) {
    if (size != 0)
        access(head_of(kind, detail, size > UINT32_MAX ? UINT32_MAX : size), address, pc);
}

/* What gcc calls a range of the size of a number is one that is not aligned; clang has hooks for that. */
static inline uint64_t detail_of(uintptr_t size) {
    return size == 2 || size == 4 || size == 8 || size == 16 ? UNALIGNED : RANGE;
}

#define ONE(name, kind, detail, size)                                                                                 \
    AVMON_PRIVATE void avmon_##name(uintptr_t address) { access(head_of(kind, detail, size), address, CALLER); }

/* What is read and written at once is first read. */
#define BOTH(name, detail, size)                                                                                      \
    AVMON_PRIVATE void avmon_##name(uintptr_t address) {                                                              \
        access(head_of(AVMON_READ, detail, size), address, CALLER);                                                   \
        access(head_of(AVMON_WRITE, detail, size), address, CALLER);                                                  \
    }

#define WITH_PC(name, kind, size)                                                                                     \
    AVMON_PRIVATE void avmon_##name(uintptr_t address, uintptr_t pc) {                                                \
        access(head_of(kind, PLAIN, size), address, pc);                                                              \
    }

/*
 * Volatile accesses order threads too, with or without a recording. The order that a read sees is owed before the thread's
 * next event, and so comes after this one; a write makes its order before it happens.
 */
#define VOLATILE_READ(name, detail, size)                                                                             \
    AVMON_PRIVATE void avmon_##name(uintptr_t address) {                                                              \
        if (AVMON_UNLIKELY(avmon_recording != 0))                                                                     \
            access(head_of(AVMON_READ, detail, size), address, CALLER);                                               \
        avmon_volatile_read(address);                                                                                 \
    }
#define VOLATILE_WRITE(name, detail, size)                                                                            \
    AVMON_PRIVATE void avmon_##name(uintptr_t address) {                                                              \
        avmon_volatile_write(address, CALLER);                                                                        \
        if (AVMON_UNLIKELY(avmon_recording != 0))                                                                     \
            access(head_of(AVMON_WRITE, detail, size), address, CALLER);                                              \
    }

#define SIZE(n)                                                                                                       \
    ONE(read##n, AVMON_READ, PLAIN, n)                                                                                \
    ONE(write##n, AVMON_WRITE, PLAIN, n)                                                                              \
    BOTH(read_write##n, PLAIN, n)                                                                                     \
    WITH_PC(read##n##_pc, AVMON_READ, n)                                                                              \
    WITH_PC(write##n##_pc, AVMON_WRITE, n)                                                                            \
    VOLATILE_READ(volatile_read##n, VOLATILE, n)                                                                      \
    VOLATILE_WRITE(volatile_write##n, VOLATILE, n)

#define UNALIGNED_SIZE(n)                                                                                             \
    ONE(unaligned_read##n, AVMON_READ, UNALIGNED, n)                                                                  \
    ONE(unaligned_write##n, AVMON_WRITE, UNALIGNED, n)                                                                \
    BOTH(unaligned_read_write##n, UNALIGNED, n)                                                                       \
    VOLATILE_READ(unaligned_volatile_read##n, VOLATILE | UNALIGNED, n)                                                \
    VOLATILE_WRITE(unaligned_volatile_write##n, VOLATILE | UNALIGNED, n)

SIZE(1)
SIZE(2)
SIZE(4)
SIZE(8)
SIZE(16)
UNALIGNED_SIZE(2)
UNALIGNED_SIZE(4)
UNALIGNED_SIZE(8)
UNALIGNED_SIZE(16)

ONE(vptr_read, AVMON_READ, VPTR, 8)
ONE(vptr_update, AVMON_WRITE, VPTR, 8)

AVMON_PRIVATE void avmon_read_range(uintptr_t address, uintptr_t size) {
    range(AVMON_READ, detail_of(size), address, size, CALLER);
}
AVMON_PRIVATE void avmon_write_range(uintptr_t address, uintptr_t size) {
    range(AVMON_WRITE, detail_of(size), address, size, CALLER);
}
AVMON_PRIVATE void avmon_read_range_pc(uintptr_t address, uintptr_t size, uintptr_t pc) {
    range(AVMON_READ, RANGE, address, size, pc);
}
AVMON_PRIVATE void avmon_write_range_pc(uintptr_t address, uintptr_t size, uintptr_t pc) {
    range(AVMON_WRITE, RANGE, address, size, pc);
}

/* An access to an object of another language's, at its first byte: how large it is, is not told. */
AVMON_PRIVATE void avmon_external_read(uintptr_t address, uintptr_t pc) {
    access(head_of(AVMON_READ, PLAIN, 1), address, pc);
}
AVMON_PRIVATE void avmon_external_write(uintptr_t address, uintptr_t pc) {
    access(head_of(AVMON_WRITE, PLAIN, 1), address, pc);
}

/* The entry of a basic block. The count stays at the most that an event can tell. */
AVMON_PRIVATE void avmon_block_entered(void) {
    if (AVMON_UNLIKELY(++avmon_tls.branches == 0))
        avmon_tls.branches = UINT16_MAX;
}
