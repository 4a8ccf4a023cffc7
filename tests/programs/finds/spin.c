// Spin locks.
// finds: update strong after
#include "../check.h"

static pthread_spinlock_t lock;
static int value;

__attribute__((constructor)) static void init(void) { OK(pthread_spin_init(&lock, 0)); }

static int get(void)
{
    OK(pthread_spin_lock(&lock));
    int seen = value;
    OK(pthread_spin_unlock(&lock));
    return seen;
}

static void set(int next)
{
    OK(pthread_spin_lock(&lock));
    value = next;
    OK(pthread_spin_unlock(&lock));
}

static void update(void)
{
    int seen = get(); /* first */
    set(seen + 1); /* second */
}

static void reset(void) { set(100); /* culprit */ }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
