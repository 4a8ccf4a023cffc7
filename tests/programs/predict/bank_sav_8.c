// As bank_av_8, but who pays out waits until money is expected. That is told when the balance was read, not when it is written: half a fix.
#include "bank.h"

static void deposit(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    long balance = account->balance;
    account->is_expected = 1;
    pthread_cond_signal(&account->expected);
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance + amount;
    pthread_mutex_unlock(&account->lock);
}

static void withdraw(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock);
    while (!account->is_expected)
        pthread_cond_wait(&account->expected, &account->lock);
    long balance = account->balance;
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance - amount;
    pthread_mutex_unlock(&account->lock);
}

static void pay_in(struct account pair[2])
{
    deposit(&pair[0], 100);
    deposit(&pair[1], 100);
}

static void pay_out(struct account pair[2])
{
    withdraw(&pair[0], 60);
    withdraw(&pair[1], 60);
}
