/* A counter with a reader-writer lock hands out numbers; most threads only look at it. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int counter;

static int advance(void)
{
    pthread_rwlock_wrlock(&lock);
    int value = ++counter;
    pthread_rwlock_unlock(&lock);
    return value;
}

static int look(void)
{
    pthread_rwlock_rdlock(&lock);
    int value = counter;
    pthread_rwlock_unlock(&lock);
    return value;
}

static int next_ticket(void)
{
    return advance();
}

struct visit {
    useconds_t delay_us;
    int ticket;
};

static void *visitor(void *argument)
{
    struct visit *visit = argument;
    usleep(visit->delay_us);
    visit->ticket = next_ticket();
    return NULL;
}

static void *display(void *shown)
{
    usleep(40000);
    *(int *)shown = look();
    return NULL;
}

int main(void)
{
    struct visit visits[2] = {{0, 0}, {20000, 0}};
    int shown;
    pthread_t visitors[2], screen;
    for (int i = 0; i < 2; i++)
        pthread_create(&visitors[i], NULL, visitor, &visits[i]);
    pthread_create(&screen, NULL, display, &shown);
    for (int i = 0; i < 2; i++)
        pthread_join(visitors[i], NULL);
    pthread_join(screen, NULL);
    printf("tickets %d and %d, display %d\n", visits[0].ticket, visits[1].ticket, shown);
    return 0;
}
