/* Two tellers move money out of one account. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    long balance;
};

static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account current = {PTHREAD_MUTEX_INITIALIZER, 0};

static long balance_of(struct account *account)
{
    pthread_mutex_lock(&account->lock); /* culprit */
    long balance = account->balance;
    pthread_mutex_unlock(&account->lock);
    return balance;
}

static void change(struct account *account, long amount)
{
    pthread_mutex_lock(&account->lock); /* culprit */
    account->balance += amount;
    pthread_mutex_unlock(&account->lock);
}

static int transfer(struct account *from, struct account *to, long amount)
{
    if (balance_of(from) < amount) /* first */
        return 0;
    /* Another teller may empty the account here. */
    change(from, -amount); /* second */
    change(to, amount);
    return 1;
}

static void *teller(void *delay_us)
{
    usleep((useconds_t)(size_t)delay_us);
    return (void *)(size_t)transfer(&savings, &current, 60);
}

int main(void)
{
    pthread_t early, late;
    void *early_done, *late_done;
    pthread_create(&early, NULL, teller, (void *)0);
    pthread_create(&late, NULL, teller, (void *)20000);
    pthread_join(early, &early_done);
    pthread_join(late, &late_done);
    printf("transfers done: %zu of 2\n", (size_t)early_done + (size_t)late_done);
    printf("savings %ld, current %ld\n", savings.balance, current.balance);
    return 0;
}
