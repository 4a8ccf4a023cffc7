// A table under a reader-writer lock: writers change all of it, readers must see it whole.
// reads: 50000
#include "../stress.h"

enum { ENTRIES = 32, TURNS = 200 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct { int key; long value; } table[ENTRIES];
static int version;

static void change(int by)
{
    version++;
    for (int i = 0; i < ENTRIES; i++) {
        table[i].key = version;
        table[i].value = (long)version * (i + by);
    }
}

static void look(void)
{
    for (int i = 0; i < ENTRIES; i++)
        CHECK(table[i].key == version && (version == 0 || table[i].value % version == 0));
}

static void *work(void *number)
{
    unsigned random = (unsigned)(intptr_t)number * 77 + 5;
    for (int i = 0; i < TURNS; i++) {
        int is_writer = next_random(&random) % 4 == 0, is_patient = next_random(&random) % 2;
        int code;
        if (is_patient)
            code = is_writer ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock);
        else
            code = is_writer ? pthread_rwlock_trywrlock(&lock) : pthread_rwlock_tryrdlock(&lock);
        if (code == EBUSY)
            continue;
        OK(code);
        if (is_writer)
            change((int)(intptr_t)number);
        else
            look();
        OK(pthread_rwlock_unlock(&lock));
    }
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    OK(pthread_rwlock_wrlock(&lock));
    change(1);
    look();
    OK(pthread_rwlock_unlock(&lock));
    return 0;
}
