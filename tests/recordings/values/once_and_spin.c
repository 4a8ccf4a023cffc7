// Tables that are made once by whoever comes first, then changed under spin locks.
// reads: 25000
#include "../stress.h"

enum { TABLES = 4, CELLS = 16, TURNS = 200 };

static pthread_once_t once[TABLES] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static int *tables[TABLES];
static int made;
static pthread_spinlock_t locks[TABLES], made_lock;

static int *make(void)
{
    int *table = (int *)calloc(CELLS, sizeof *table);
    for (int i = 0; i < CELLS; i++)
        table[i] = i;
    OK(pthread_spin_lock(&made_lock));
    made++;
    OK(pthread_spin_unlock(&made_lock));
    return table;
}

static void make0(void) { tables[0] = make(); }
static void make1(void) { tables[1] = make(); }
static void make2(void) { tables[2] = make(); }
static void make3(void) { tables[3] = make(); }
static void (*const makers[TABLES])(void) = {make0, make1, make2, make3};

static void *work(void *number)
{
    unsigned random = (unsigned)(intptr_t)number + 9;
    for (int i = 0; i < TURNS; i++) {
        int which = next_random(&random) % TABLES;
        OK(pthread_once(&once[which], makers[which]));
        if (next_random(&random) % 2)
            OK(pthread_spin_lock(&locks[which]));
        else
            while (pthread_spin_trylock(&locks[which]) == EBUSY)
                sched_yield();
        int sum = 0;
        for (int j = 0; j < CELLS; j++)
            sum += tables[which][j];
        tables[which][sum % CELLS] += 1;
        OK(pthread_spin_unlock(&locks[which]));
    }
    return NULL;
}

int main(void)
{
    OK(pthread_spin_init(&made_lock, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < TABLES; i++)
        OK(pthread_spin_init(&locks[i], PTHREAD_PROCESS_PRIVATE));
    run_threads(THREADS, work);
    CHECK(made == TABLES);
    long sum = 0;
    for (int i = 0; i < TABLES; i++)
        for (int j = 0; j < CELLS; j++)
            sum += tables[i][j];
    CHECK(sum == TABLES * CELLS * (CELLS - 1) / 2 + THREADS * TURNS);
    return 0;
}
