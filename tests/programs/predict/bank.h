/* Eight accounts and eight tellers: four pay in, and later four pay out, each to and from two accounts. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, TELLERS = 8, PAYING_IN = 4 };

struct account {
    pthread_mutex_t lock;
    long balance;
#ifdef WAITS_FOR_MONEY
    /* Whether money is on its way. */
    long is_expected;
    pthread_cond_t expected;
#endif
};

static struct account accounts[ACCOUNTS];

/* Each account has code of its own: what happens at the same places of the code is one violation, however many variables it is about. */
#define ACCOUNT 0
#include "bank_account.h"
#define ACCOUNT 1
#include "bank_account.h"
#define ACCOUNT 2
#include "bank_account.h"
#define ACCOUNT 3
#include "bank_account.h"
#define ACCOUNT 4
#include "bank_account.h"
#define ACCOUNT 5
#include "bank_account.h"
#define ACCOUNT 6
#include "bank_account.h"
#define ACCOUNT 7
#include "bank_account.h"

typedef void operation(void);

static operation *const deposits[ACCOUNTS] = {
    deposit_0, deposit_1, deposit_2, deposit_3, deposit_4, deposit_5, deposit_6, deposit_7,
};
static operation *const withdrawals[ACCOUNTS] = {
    withdraw_0, withdraw_1, withdraw_2, withdraw_3, withdraw_4, withdraw_5, withdraw_6, withdraw_7,
};

#ifdef HAS_TRANSACTIONS
static pthread_mutex_t transaction = PTHREAD_MUTEX_INITIALIZER;
#endif

static void pay(operation *const both[2])
{
#ifdef HAS_TRANSACTIONS
    pthread_mutex_lock(&transaction);
#endif
    both[0]();
    both[1]();
#ifdef HAS_TRANSACTIONS
    pthread_mutex_unlock(&transaction);
#endif
}

static void *teller(void *number_of_it)
{
    size_t number = (size_t)number_of_it;
    /* One after the other: the recorded run shows no violation. */
    usleep((useconds_t)number * 10000);
    pay(number < PAYING_IN ? &deposits[2 * number] : &withdrawals[2 * (number - PAYING_IN)]);
    return NULL;
}

int main(void)
{
    pthread_t tellers[TELLERS];
    for (int i = 0; i < ACCOUNTS; i++) {
        pthread_mutex_init(&accounts[i].lock, NULL);
#ifdef WAITS_FOR_MONEY
        pthread_cond_init(&accounts[i].expected, NULL);
#endif
    }
    for (size_t i = 0; i < TELLERS; i++)
        pthread_create(&tellers[i], NULL, teller, (void *)i);
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i], NULL);
    puts("done");
    return 0;
}
