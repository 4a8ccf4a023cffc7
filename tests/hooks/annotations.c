/* The public interface of the thread sanitizer, as code that carries its annotations calls it. */
#include <pthread.h>
#include <sanitizer/tsan_interface.h>
#include <stdio.h>

void AnnotateHappensBefore(const char *file, int line, void *object);
void AnnotateHappensAfter(const char *file, int line, void *object);
void WTFAnnotateHappensBefore(const char *file, int line, void *object);
void WTFAnnotateHappensAfter(const char *file, int line, void *object);
void AnnotateRWLockCreate(const char *file, int line, void *lock);
void AnnotateRWLockDestroy(const char *file, int line, void *lock);
void AnnotateRWLockAcquired(const char *file, int line, void *lock, long is_write);
void AnnotateRWLockReleased(const char *file, int line, void *lock, long is_write);
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateThreadName(const char *file, int line, const char *name);
void AnnotateBenignRaceSized(const char *file, int line, void *object, size_t size, const char *why);
void *__tsan_external_register_tag(const char *type);
void *__tsan_get_current_report(void);
int __tsan_get_report_tag(void *report, unsigned long *tag);

/* A lock made of a pthread mutex, described as one lock. */
struct lock {
    pthread_mutex_t mutex;
};
static struct lock lock = {PTHREAD_MUTEX_INITIALIZER};
static long guarded;

static void take(struct lock *l) {
    __tsan_mutex_pre_lock(l, 0);
    pthread_mutex_lock(&l->mutex);
    __tsan_mutex_post_lock(l, 0, 0);
}

static void give(struct lock *l) {
    int levels = __tsan_mutex_pre_unlock(l, 0);
    pthread_mutex_unlock(&l->mutex);
    __tsan_mutex_post_unlock(l, 0);
    if (levels != 1)
        printf("%d levels\n", levels);
}

static int try_to_take(struct lock *l) {
    __tsan_mutex_pre_lock(l, __tsan_mutex_try_lock);
    int failed = pthread_mutex_trylock(&l->mutex);
    __tsan_mutex_post_lock(l, failed ? __tsan_mutex_try_lock_failed : __tsan_mutex_try_lock, 0);
    return !failed;
}

static void *worker(void *name) {
    AnnotateThreadName(__FILE__, __LINE__, name);
    for (int i = 0; i < 1000; i++) {
        if (!try_to_take(&lock))
            take(&lock);
        guarded++;
        give(&lock);
    }
    __tsan_mutex_pre_signal(&lock, 0);
    __tsan_mutex_pre_divert(&lock, 0);
    __tsan_mutex_post_divert(&lock, 0);
    __tsan_mutex_post_signal(&lock, 0);
    __tsan_release(&guarded);
    AnnotateHappensBefore(__FILE__, __LINE__, &guarded);
    WTFAnnotateHappensBefore(__FILE__, __LINE__, &guarded);
    return NULL;
}

int main(void) {
    struct lock temporary;
    __tsan_mutex_create(&lock, __tsan_mutex_linker_init);
    __tsan_mutex_create(&temporary, __tsan_mutex_write_reentrant);
    __tsan_mutex_destroy(&temporary, 0);
    pthread_t thread[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, worker, "a worker");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    __tsan_acquire(&guarded);
    AnnotateHappensAfter(__FILE__, __LINE__, &guarded);
    WTFAnnotateHappensAfter(__FILE__, __LINE__, &guarded);
    printf("guarded %ld\n", guarded);

    int object = 0;
    AnnotateRWLockCreate(__FILE__, __LINE__, &object);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &object, 1);
    AnnotateRWLockReleased(__FILE__, __LINE__, &object, 1);
    AnnotateRWLockAcquired(__FILE__, __LINE__, &object, 0);
    AnnotateRWLockReleased(__FILE__, __LINE__, &object, 0);
    AnnotateRWLockDestroy(__FILE__, __LINE__, &object);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    AnnotateBenignRaceSized(__FILE__, __LINE__, &object, sizeof object, "shown");

    void *home = __tsan_get_current_fiber();
    void *fiber = __tsan_create_fiber(0);
    __tsan_set_fiber_name(fiber, "side");
    __tsan_switch_to_fiber(fiber, 0);
    __tsan_switch_to_fiber(home, __tsan_switch_to_fiber_no_sync);
    __tsan_destroy_fiber(fiber);
    printf("fibers %d %d\n", home != NULL, fiber != NULL);

    unsigned long tag = 0;
    printf("tag %d\n", __tsan_external_register_tag("shown") != NULL);
    printf("report %d %d\n", __tsan_get_current_report() != NULL, __tsan_get_report_tag(NULL, &tag));
    return 0;
}
