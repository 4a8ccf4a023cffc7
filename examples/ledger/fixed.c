/* A shop keeps a table of prices and a journal of their changes, from which the table could be made again. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ITEMS = 4, CAPACITY = 16, TEA = 2 };

struct change {
    long item, price;
};

static pthread_mutex_t price_lock = PTHREAD_MUTEX_INITIALIZER;
static long prices[ITEMS];
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct change journal[CAPACITY];
static long journal_length;

/* The table stays locked until the change is in the journal, so both see the changes in one order. */
static void set_price(long item, long price)
{
    pthread_mutex_lock(&price_lock);
    prices[item] = price;
    pthread_mutex_lock(&journal_lock);
    journal[journal_length] = (struct change){item, price};
    journal_length++;
    pthread_mutex_unlock(&journal_lock);
    pthread_mutex_unlock(&price_lock);
}

struct order {
    useconds_t delay_us;
    long price;
};

static void *clerk(void *argument)
{
    struct order *order = argument;
    usleep(order->delay_us);
    set_price(TEA, order->price);
    return NULL;
}

int main(void)
{
    struct order orders[2] = {{0, 310}, {50000, 290}};
    pthread_t clerks[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&clerks[i], NULL, clerk, &orders[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(clerks[i], NULL);
    printf("tea costs %ld, by the journal %ld\n", prices[TEA], journal[journal_length - 1].price);
    return 0;
}
