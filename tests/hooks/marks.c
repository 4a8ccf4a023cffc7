/* Every mark of avmon.h, once or twice. */
#include <avmon.h>

int main(void) {
    int lock = 0;
    AVMON_LOCK_CREATED(&lock);
    for (int i = 0; i < 2; i++) {
        AVMON_ATOMIC_BEGIN("a label");
        AVMON_LOCK_CODE_BEGIN();
        AVMON_LOCK_CODE_END();
        AVMON_LOCK_ACQUIRED(&lock);
        AVMON_LOCK_RELEASING(&lock);
        AVMON_LOCK_ACQUIRED_SHARED(&lock);
        AVMON_LOCK_RELEASING_SHARED(&lock);
        AVMON_ATOMIC_END();
    }
    AVMON_SIGNAL(&lock);
    AVMON_AWAIT(&lock);
    AVMON_INTERFERENCE();
    AVMON_LOCK_DESTROYED(&lock);
    return 0;
}
