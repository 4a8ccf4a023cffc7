// Processes that come and go beside one that stays; each has threads of its own.
#include "progress.h"
#include <sys/wait.h>

static void *work(void *number)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    struct row *row = new_row(&own);
    for (int i = 0; i < 3000 || number == NULL; i++) {
        OK(pthread_mutex_lock(&own));
        OK(pthread_mutex_unlock(&own));
        step_done(row);
    }
    return NULL;
}

static void be_child(void)
{
    pthread_t ids[2];
    for (int i = 0; i < 2; i++)
        OK(pthread_create(&ids[i], NULL, work, (void *)1));
    for (int i = 0; i < 2; i++)
        OK(pthread_join(ids[i], NULL));
    exit(0);
}

static void *have_children(void *number)
{
    for (;;) {
        pid_t children[2];
        for (int i = 0; i < 2; i++) {
            children[i] = fork();
            CHECK(children[i] >= 0);
            if (children[i] == 0)
                be_child();
        }
        for (int i = 0; i < 2; i++)
            CHECK(waitpid(children[i], NULL, 0) == children[i]);
    }
    return number;
}

static void *stay_or_fork(void *number)
{
    return number == NULL ? work(NULL) : have_children(number);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    open_progress(argv[1]);
    run_threads(2, stay_or_fork);
    return 0;
}
