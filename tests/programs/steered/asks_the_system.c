// What a program asks the system for, before its first thread and after it, and deadlines that it computes from the answers.
#define _GNU_SOURCE
#include "../check.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int unused)
{
    (void)unused;
    signals++;
}

static void ask(void)
{
    unsigned int random;
    struct timespec now;
    struct timeval of_day;
    CHECK(getrandom(&random, sizeof random, 0) == sizeof random);
    OK(clock_gettime(CLOCK_REALTIME, &now));
    OK(gettimeofday(&of_day, NULL));
    printf("%ld %ld %ld %u %d\n", (long)time(NULL), now.tv_nsec, (long)of_day.tv_sec, random, getpid());
}

static void *wait_a_moment(void *unused)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, taken = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct timespec soon = from_now(CLOCK_REALTIME, 50);
    OK(pthread_mutex_lock(&lock));
    RETURNS(pthread_cond_timedwait(&never, &lock, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&lock));
    OK(pthread_mutex_lock(&taken));
    soon = from_now(CLOCK_REALTIME, 50);
    RETURNS(pthread_mutex_timedlock(&taken, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&taken));
    return unused;
}

int main(void)
{
    pthread_t id;
    CHECK(signal(SIGUSR1, count) != SIG_ERR);
    ask();
    OK(pthread_create(&id, NULL, wait_a_moment, NULL));
    OK(pthread_join(id, NULL));
    ask();
    OK(kill(getpid(), SIGUSR1));
    CHECK(signals == 1);
    return 0;
}
