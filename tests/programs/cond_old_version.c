// A program linked long ago asks for the first version of the condition variable calls, which is another implementation.
#include "check.h"

__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_destroy, pthread_cond_destroy@GLIBC_2.2.5");

int old_init(void *cond, const pthread_condattr_t *attributes);
int old_wait(void *cond, pthread_mutex_t *mutex);
int old_signal(void *cond);
int old_broadcast(void *cond);
int old_timedwait(void *cond, pthread_mutex_t *mutex, const struct timespec *when);
int old_destroy(void *cond);

// In that version the object was larger for the program, and only its first word was used.
static union {
    void *word;
    char bytes[64];
} changed;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int turn;

static void take_turn(int me, int alone)
{
    OK(pthread_mutex_lock(&lock));
    while (turn != me)
        OK(old_wait(&changed, &lock));
    turn = !me;
    OK(alone ? old_signal(&changed) : old_broadcast(&changed));
    OK(pthread_mutex_unlock(&lock));
}

static void play(int me)
{
    for (int i = 0; i < 300; i++)
        take_turn(me, i % 2);
}

static void *player(void *unused)
{
    play(1);
    return unused;
}

int main(void)
{
    pthread_t id;
    OK(old_init(&changed, NULL));
    OK(pthread_create(&id, NULL, player, NULL));
    play(0);
    OK(pthread_join(id, NULL));
    OK(pthread_mutex_lock(&lock));
    struct timespec soon = from_now(CLOCK_REALTIME, 10);
    RETURNS(old_timedwait(&changed, &lock, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&lock));
    OK(old_destroy(&changed));
    puts("ok");
    return 0;
}
