// Threads that do little but lock and unlock, each its own mutex and a common one.
#include "progress.h"

static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *work(void *number)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    struct row *row = new_row(&own);
    for (;;) {
        OK(pthread_mutex_lock(&own));
        OK(pthread_mutex_unlock(&own));
        OK(pthread_mutex_lock(&common));
        counter++;
        OK(pthread_mutex_unlock(&common));
        step_done(row);
    }
    return number;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    open_progress(argv[1]);
    run_threads(4, work);
    return 0;
}
