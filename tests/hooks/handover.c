/* One thread updates two things under one lock, but not at once; then it hands over to another thread, which takes the
 * lock too. If the hand-over is order that every run must keep, the other thread cannot come in between. */
#include <avmon.h>
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

void AnnotateHappensBefore(const char *file, int line, void *object);
void AnnotateHappensAfter(const char *file, int line, void *object);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int first, second;
static atomic_int flag;
static volatile int volatile_flag;
static unsigned __int128 wide;

static void wait_relaxed(void) {
    while (!atomic_load_explicit(&flag, memory_order_relaxed)) {
    }
}

static void relaxed_send(void) { atomic_store_explicit(&flag, 1, memory_order_relaxed); }

static void release_send(void) { atomic_store_explicit(&flag, 1, memory_order_release); }
static void acquire_wait(void) {
    while (!atomic_load_explicit(&flag, memory_order_acquire)) {
    }
}

static void seq_cst_send(void) { atomic_store(&flag, 1); }
static void seq_cst_wait(void) {
    while (!atomic_load(&flag)) {
    }
}

static void update_send(void) { atomic_fetch_add_explicit(&flag, 1, memory_order_acq_rel); }
static void update_wait(void) {
    while (!atomic_fetch_or_explicit(&flag, 0, memory_order_acq_rel)) {
    }
}

static void exchange_send(void) {
    int expected = 0;
    atomic_compare_exchange_strong_explicit(&flag, &expected, 1, memory_order_release, memory_order_relaxed);
}
static void exchange_wait(void) {
    int expected = 1;
    while (!atomic_compare_exchange_weak_explicit(&flag, &expected, 2, memory_order_acquire, memory_order_relaxed))
        expected = 1;
}

static void fence_send(void) {
    atomic_thread_fence(memory_order_release);
    relaxed_send();
}
static void fence_wait(void) {
    wait_relaxed();
    atomic_thread_fence(memory_order_acquire);
}

static void wide_send(void) { __atomic_store_n(&wide, (unsigned __int128)1 << 100, __ATOMIC_RELEASE); }
static void wide_wait(void) {
    while (!__atomic_load_n(&wide, __ATOMIC_ACQUIRE)) {
    }
}

static void volatile_send(void) { volatile_flag = 1; }
static void volatile_wait(void) {
    while (!volatile_flag) {
    }
}

static void tsan_send(void) {
    __tsan_release(&first);
    relaxed_send();
}
static void tsan_wait(void) {
    wait_relaxed();
    __tsan_acquire(&first);
}

static void annotated_send(void) {
    AnnotateHappensBefore(__FILE__, __LINE__, &first);
    relaxed_send();
}
static void annotated_wait(void) {
    wait_relaxed();
    AnnotateHappensAfter(__FILE__, __LINE__, &first);
}

static void marked_send(void) {
    AVMON_SIGNAL(&first);
    relaxed_send();
}
static void marked_wait(void) {
    wait_relaxed();
    AVMON_AWAIT(&first);
}

static const struct way {
    const char *name;
    void (*send)(void);
    void (*wait)(void);
} ways[] = {
    {"relaxed", relaxed_send, wait_relaxed},
    {"release, relaxed", release_send, wait_relaxed},
    {"release, acquire", release_send, acquire_wait},
    {"seq_cst", seq_cst_send, seq_cst_wait},
    {"update", update_send, update_wait},
    {"compare and exchange", exchange_send, exchange_wait},
    {"fences", fence_send, fence_wait},
    {"fence, acquire", fence_send, acquire_wait},
    {"release, fence", release_send, fence_wait},
    {"wide", wide_send, wide_wait},
    {"volatile", volatile_send, volatile_wait},
    {"tsan", tsan_send, tsan_wait},
    {"annotations", annotated_send, annotated_wait},
    {"marks", marked_send, marked_wait},
};
static const struct way *way;

static void update(void) {
    pthread_mutex_lock(&mutex);
    first++;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    second++;
    pthread_mutex_unlock(&mutex);
}

static void *writer(void *unused) {
    update();
    way->send();
    return unused;
}

static void *reader(void *unused) {
    way->wait();
    pthread_mutex_lock(&mutex);
    printf("%d\n", first + second);
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(int argc, char **argv) {
    if (argc == 1) {
        for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
            puts(ways[i].name);
        return 0;
    }
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(ways[i].name, argv[1]))
            way = &ways[i];
    if (!way)
        return 2;
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, writer, NULL);
    pthread_create(&threads[1], NULL, reader, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
