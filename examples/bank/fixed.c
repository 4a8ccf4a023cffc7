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

static int transfer(struct account *from, struct account *to, long amount)
{
    /* Both locks, in the order of their addresses: two transfers in opposite directions cannot deadlock. */
    struct account *low = from < to ? from : to, *high = from < to ? to : from;
    pthread_mutex_lock(&low->lock);
    pthread_mutex_lock(&high->lock);
    int enough = from->balance >= amount;
    if (enough) {
        from->balance -= amount;
        to->balance += amount;
    }
    pthread_mutex_unlock(&high->lock);
    pthread_mutex_unlock(&low->lock);
    return enough;
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
