// As bank_av_8, but one lock is held for the whole of what a teller does: nothing can be split.
#include "bank.h"

static pthread_mutex_t transaction = PTHREAD_MUTEX_INITIALIZER;

static void deposit(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    long balance = account->balance;
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance + amount;
    pthread_mutex_unlock(&account->lock);
}

static void withdraw(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    long balance = account->balance;
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance - amount;
    pthread_mutex_unlock(&account->lock);
}

static void pay_in(struct account pair[2])
{
    pthread_mutex_lock(&transaction);
    deposit(&pair[0], 100);
    deposit(&pair[1], 100);
    pthread_mutex_unlock(&transaction);
}

static void pay_out(struct account pair[2])
{
    pthread_mutex_lock(&transaction);
    withdraw(&pair[0], 60);
    withdraw(&pair[1], 60);
    pthread_mutex_unlock(&transaction);
}
