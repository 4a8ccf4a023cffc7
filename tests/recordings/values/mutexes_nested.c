// Transfers between accounts, each under two locks that are taken in the order of their numbers.
// reads: 10000
#include "../stress.h"

enum { ACCOUNTS = 16, TRANSFERS = 400 };

static struct account {
    pthread_mutex_t lock;
    long balance;
    int moves;
    short last;
    char busy;
} accounts[ACCOUNTS];

static void transfer(struct account *from, struct account *to, long amount, short by)
{
    struct account *first = from < to ? from : to, *second = from < to ? to : from;
    OK(pthread_mutex_lock(&first->lock));
    OK(pthread_mutex_lock(&second->lock));
    CHECK(!from->busy && !to->busy);
    from->busy = to->busy = 1;
    from->balance -= amount;
    to->balance += amount;
    from->moves++;
    to->moves++;
    from->last = to->last = by;
    from->busy = to->busy = 0;
    OK(pthread_mutex_unlock(&second->lock));
    OK(pthread_mutex_unlock(&first->lock));
}

static void *work(void *number)
{
    unsigned random = (unsigned)(intptr_t)number + 1;
    for (int i = 0; i < TRANSFERS; i++) {
        unsigned from = next_random(&random) % ACCOUNTS, step = 1 + next_random(&random) % (ACCOUNTS - 1);
        transfer(&accounts[from], &accounts[(from + step) % ACCOUNTS], next_random(&random) % 100, (short)(intptr_t)number);
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < ACCOUNTS; i++)
        OK(pthread_mutex_init(&accounts[i].lock, NULL));
    run_threads(THREADS, work);
    long sum = 0, moves = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        sum += accounts[i].balance;
        moves += accounts[i].moves;
    }
    CHECK(sum == 0 && moves == 2 * THREADS * TRANSFERS);
    return 0;
}
