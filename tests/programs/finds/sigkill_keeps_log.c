// A window that the program survives long enough: after SIGKILL the log has it.
// exit: SIGKILL
// variants: instrumented
// finds: update strong after
#include "shared_value.h"
#include <signal.h>

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void reset(void) { set(100); }

static void *work(void *unused)
{
    update();
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    reset();
    return unused;
}

int main(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, work, NULL));
    OK(pthread_create(&b, NULL, other, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
    // The log is behind the program by as much as the analysis is.
    sleep_ms(5000);
    raise(SIGKILL);
    return 0;
}
