/* The same two-part update under a lock that is no pthread lock, described in different ways or not at all. The second
 * thread comes after the first by relaxed accesses: that is no order that other runs must keep. */
#include <avmon.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

void AnnotateRWLockAcquired(const char *file, int line, void *lock, long is_write);
void AnnotateRWLockReleased(const char *file, int line, void *lock, long is_write);

static atomic_flag taken = ATOMIC_FLAG_INIT;
static char plain_taken;
static int first, second;

static void spin(void) {
    while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire)) {
    }
}
static void unspin(void) { atomic_flag_clear_explicit(&taken, memory_order_release); }

static void tsan_take(void) {
    __tsan_mutex_pre_lock(&taken, 0);
    spin();
    __tsan_mutex_post_lock(&taken, 0, 0);
}
static void tsan_give(void) {
    __tsan_mutex_pre_unlock(&taken, 0);
    unspin();
    __tsan_mutex_post_unlock(&taken, 0);
}

static void marked_take(void) {
    AVMON_LOCK_CODE_BEGIN();
    spin();
    AVMON_LOCK_CODE_END();
    AVMON_LOCK_ACQUIRED(&taken);
}
static void marked_give(void) {
    AVMON_LOCK_RELEASING(&taken);
    AVMON_LOCK_CODE_BEGIN();
    unspin();
    AVMON_LOCK_CODE_END();
}

/* A lock whose own code has no hooks needs no such brackets. */
#if defined(__clang__)
#define PLAIN __attribute__((disable_sanitizer_instrumentation))
#else
#define PLAIN __attribute__((no_sanitize("thread")))
#endif

PLAIN static void plain_spin(void) {
    while (__atomic_test_and_set(&plain_taken, __ATOMIC_ACQUIRE)) {
    }
}
PLAIN static void plain_unspin(void) { __atomic_clear(&plain_taken, __ATOMIC_RELEASE); }

static void annotated_take(void) {
    plain_spin();
    AnnotateRWLockAcquired(__FILE__, __LINE__, &plain_taken, 1);
}
static void annotated_give(void) {
    AnnotateRWLockReleased(__FILE__, __LINE__, &plain_taken, 1);
    plain_unspin();
}

/* Readers do not disturb each other. */
static void shared_take(void) {
    plain_spin();
    AVMON_LOCK_ACQUIRED_SHARED(&plain_taken);
}
static void shared_give(void) {
    AVMON_LOCK_RELEASING_SHARED(&plain_taken);
    plain_unspin();
}

static const struct kind {
    const char *name;
    void (*take)(void);
    void (*give)(void);
} kinds[] = {
    {"atomic", spin, unspin},
    {"tsan", tsan_take, tsan_give},
    {"marks", marked_take, marked_give},
    {"annotations", annotated_take, annotated_give},
    {"shared", shared_take, shared_give},
};
static const struct kind *kind;
static atomic_int turn;

static void update(void) {
    kind->take();
    first++;
    kind->give();
    kind->take();
    second++;
    kind->give();
}

static void *writer(void *unused) {
    update();
    atomic_store_explicit(&turn, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused) {
    while (!atomic_load_explicit(&turn, memory_order_relaxed)) {
    }
    kind->take();
    printf("%d\n", first + second);
    kind->give();
    return unused;
}

int main(int argc, char **argv) {
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (argc == 2 && !strcmp(kinds[i].name, argv[1]))
            kind = &kinds[i];
    if (!kind)
        return 2;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
