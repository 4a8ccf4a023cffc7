/* What tellers do with the account whose number ACCOUNT is. Included once for each. */
#ifndef NAME
#define JOINED(what, number) what##_##number
#define NAME(what, number) JOINED(what, number)
#endif

static void NAME(deposit, ACCOUNT)(void)
{
    struct account *account = &accounts[ACCOUNT];
    pthread_mutex_lock(&account->lock);
    long balance = account->balance;
#ifdef WAITS_FOR_MONEY
    account->is_expected = 1;
    pthread_cond_signal(&account->expected);
#endif
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance + 100;
    pthread_mutex_unlock(&account->lock);
}

static void NAME(withdraw, ACCOUNT)(void)
{
    struct account *account = &accounts[ACCOUNT];
    pthread_mutex_lock(&account->lock);
#ifdef WAITS_FOR_MONEY
    while (!account->is_expected)
        pthread_cond_wait(&account->expected, &account->lock);
#endif
    long balance = account->balance;
    pthread_mutex_unlock(&account->lock);
    pthread_mutex_lock(&account->lock);
    account->balance = balance - 60;
    pthread_mutex_unlock(&account->lock);
}

#undef ACCOUNT
