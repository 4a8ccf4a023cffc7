// A recursive lock that is held throughout: the inner acquires open no window.
// flags: -D_GNU_SOURCE
#include "../check.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int value;

static int get(void)
{
    OK(pthread_mutex_lock(&lock));
    int seen = value;
    OK(pthread_mutex_unlock(&lock));
    return seen;
}

static void set(int next)
{
    OK(pthread_mutex_lock(&lock));
    value = next;
    OK(pthread_mutex_unlock(&lock));
}

static void update(void)
{
    OK(pthread_mutex_lock(&lock));
    int seen = get();
    set(seen + 1);
    OK(pthread_mutex_unlock(&lock));
}

static void reset(void) { set(100); }

#define BLOCK update
#define CULPRIT reset
#include "two_threads.h"
