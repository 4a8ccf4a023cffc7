// The balance of each account is read in one section and written in another, by a teller who pays in and one who pays out.
#include "bank.h"

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
    deposit(&pair[0], 100);
    deposit(&pair[1], 100);
}

static void pay_out(struct account pair[2])
{
    withdraw(&pair[0], 60);
    withdraw(&pair[1], 60);
}
