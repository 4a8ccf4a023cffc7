// Two locks that lived at one address in turn are two locks.
#include "shared_value.h"

static void use_in_turn(void)
{
    set(1);
    OK(pthread_mutex_destroy(&lock));
    OK(pthread_mutex_init(&lock, NULL));
    set(2);
}

static void other(void) { set(3); }

#define BLOCK use_in_turn
#define CULPRIT other
#include "two_threads.h"
