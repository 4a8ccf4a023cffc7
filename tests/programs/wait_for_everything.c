// All that threads can wait for, in one program: in whatever order they take their turns, it ends, and its sums are right.
// flags: -D_GNU_SOURCE
// findings: any
#include "check.h"

#include <semaphore.h>
#include <stdatomic.h>

enum { WORKERS = 4, ROUNDS = 3, SLOTS = 2 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t meeting;
static sem_t slots;
static int in_plain, in_recursive, in_checking, in_shared, initialised, serial;
static atomic_int added, exchanged, in_slots;

// One place for one item: each who waits for it is woken by a signal.
static pthread_mutex_t shelf = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int item, taken;

// All wait until the last one has come, who wakes them by a broadcast.
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int arrived;

// Nobody ever signals the second one.
static pthread_mutex_t bed = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t lain_down = PTHREAD_COND_INITIALIZER, never = PTHREAD_COND_INITIALIZER;
static int is_lying, cleaned;

static void initialise(void)
{
    initialised++;
}

static void use_mutexes(void)
{
    OK(pthread_mutex_lock(&plain));
    in_plain++;
    OK(pthread_mutex_unlock(&plain));
    if (pthread_mutex_trylock(&plain) == 0)
        OK(pthread_mutex_unlock(&plain));

    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&recursive));
    in_recursive++;
    OK(pthread_mutex_unlock(&recursive));
    OK(pthread_mutex_unlock(&recursive));

    RETURNS(pthread_mutex_unlock(&checking), EPERM);
    OK(pthread_mutex_lock(&checking));
    RETURNS(pthread_mutex_lock(&checking), EDEADLK);
    in_checking++;
    OK(pthread_mutex_unlock(&checking));
}

static void use_shared(void)
{
    OK(pthread_rwlock_rdlock(&shared));
    CHECK(in_shared >= 0);
    OK(pthread_rwlock_unlock(&shared));
    OK(pthread_rwlock_wrlock(&shared));
    in_shared++;
    OK(pthread_rwlock_unlock(&shared));
}

static void use_slots(void)
{
    OK(sem_wait(&slots));
    CHECK(atomic_fetch_add(&in_slots, 1) < SLOTS);
    atomic_fetch_sub(&in_slots, 1);
    OK(sem_post(&slots));
}

static void use_atomics(void)
{
    int old = atomic_load(&exchanged);
    atomic_fetch_add(&added, 1);
    while (!atomic_compare_exchange_strong(&exchanged, &old, old + 1))
        ;
}

static void hand_over(int gives)
{
    OK(pthread_mutex_lock(&shelf));
    while (item == gives)
        OK(pthread_cond_wait(gives ? &emptied : &filled, &shelf));
    item = gives;
    taken += !gives;
    OK(pthread_cond_signal(gives ? &filled : &emptied));
    OK(pthread_mutex_unlock(&shelf));
}

static void pass_door(int round)
{
    OK(pthread_mutex_lock(&door));
    if (++arrived == (round + 1) * WORKERS)
        OK(pthread_cond_broadcast(&opened));
    while (arrived < (round + 1) * WORKERS)
        OK(pthread_cond_wait(&opened, &door));
    OK(pthread_mutex_unlock(&door));
}

static void doze(void)
{
    int result = 0;
    struct timespec until = from_now(CLOCK_REALTIME, 2);
    OK(pthread_mutex_lock(&bed));
    while (result == 0)
        result = pthread_cond_timedwait(&never, &bed, &until);
    OK(pthread_mutex_unlock(&bed));
    RETURNS(result, ETIMEDOUT);
}

static void *worker(void *number)
{
    for (int round = 0; round < ROUNDS; round++) {
        use_mutexes();
        use_shared();
        OK(pthread_once(&once, initialise));
        use_slots();
        use_atomics();
        hand_over((intptr_t)number % 2);
        pass_door(round);
        doze();
        int result = pthread_barrier_wait(&meeting);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        if (result != 0)
            serial++;
        // Who comes first again must not count while the last one does.
        pthread_barrier_wait(&meeting);
    }
    return number;
}

static void get_up(void *unused)
{
    (void)unused;
    cleaned++;
    OK(pthread_mutex_unlock(&bed));
}

static void *sleeper(void *unused)
{
    OK(pthread_mutex_lock(&bed));
    pthread_cleanup_push(get_up, NULL);
    is_lying = 1;
    OK(pthread_cond_signal(&lain_down));
    for (;;)
        OK(pthread_cond_wait(&never, &bed));
    pthread_cleanup_pop(0);
    return unused;
}

int main(void)
{
    pthread_t workers[WORKERS], asleep;
    void *value;
    OK(pthread_barrier_init(&meeting, NULL, WORKERS));
    OK(sem_init(&slots, 0, SLOTS));
    for (intptr_t number = 0; number < WORKERS; number++)
        OK(pthread_create(&workers[number], NULL, worker, (void *)number));
    OK(pthread_create(&asleep, NULL, sleeper, NULL));
    OK(pthread_mutex_lock(&bed));
    while (!is_lying)
        OK(pthread_cond_wait(&lain_down, &bed));
    OK(pthread_mutex_unlock(&bed));
    OK(pthread_cancel(asleep));
    OK(pthread_join(asleep, &value));
    CHECK(value == PTHREAD_CANCELED);
    for (intptr_t number = 0; number < WORKERS; number++) {
        OK(pthread_join(workers[number], &value));
        CHECK(value == (void *)number);
    }
    printf("mutexes %d %d %d, shared %d, once %d, atomics %d %d, taken %d, serial %d, cleaned %d\n", in_plain,
           in_recursive, in_checking, in_shared, initialised, added, exchanged, taken, serial, cleaned);
    return 0;
}
