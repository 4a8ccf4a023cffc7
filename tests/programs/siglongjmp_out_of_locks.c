// A timer's handler jumps out of whatever the thread does, mostly of lock functions. The thread is still seen after that.
// findings: any
#include "check.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static pthread_mutex_t locks[2], outer = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;
static volatile sig_atomic_t armed;
static volatile int jumps, done;
static int value;

static void jump(int signal)
{
    if (armed) {
        armed = 0;
        siglongjmp(back, signal);
    }
}

// Never returns by itself. Nobody else uses these locks, so that it does no harm to leave one of them in any state.
static void lock_for_ever(void)
{
    for (int i = 0; i < 2; i++)
        OK(pthread_mutex_init(&locks[i], NULL));
    armed = 1;
    for (unsigned i = 0;; i++) {
        pthread_mutex_trylock(&locks[i & 1]);
        pthread_mutex_unlock(&locks[i & 1]);
    }
}

static void change(void)
{
    OK(pthread_mutex_lock(&lock));
    value++;
    OK(pthread_mutex_unlock(&lock));
}

static void *change_often(void *unused)
{
    while (!done) {
        change();
        sleep_ms(1);
    }
    return unused;
}

int main(void)
{
    pthread_t id;
    sigset_t alarm;
    struct sigaction action = {.sa_handler = jump};
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    OK(sigemptyset(&alarm));
    OK(sigaddset(&alarm, SIGALRM));
    OK(sigaction(SIGALRM, &action, NULL));
    OK(pthread_sigmask(SIG_BLOCK, &alarm, NULL));
    OK(pthread_create(&id, NULL, change_often, NULL));
    OK(pthread_sigmask(SIG_UNBLOCK, &alarm, NULL));
    OK(setitimer(ITIMER_REAL, &often, NULL));
    while (jumps < 200) {
        if (sigsetjmp(back, 1) == 0)
            lock_for_ever();
        jumps++;
    }
    OK(setitimer(ITIMER_REAL, &never, NULL));

    OK(pthread_mutex_lock(&outer));
    change();
    OK(pthread_mutex_lock(&lock));
    value *= 2;
    OK(pthread_mutex_unlock(&lock));
    OK(pthread_mutex_unlock(&outer));
    sleep_ms(20);
    done = 1;
    OK(pthread_join(id, NULL));
    puts("ok");
    return 0;
}
