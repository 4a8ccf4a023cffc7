// Works with threads, does what its first argument says, works with new threads, and ends with status 7 unless it does otherwise.
#define _GNU_SOURCE
#include "killed/progress.h"
#include <signal.h>
#include <sys/resource.h>

static const char *mode;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void *work(void *number)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    struct row *row = new_row(&own);
    for (int i = 0; i < 2000; i++) {
        OK(pthread_mutex_lock(&own));
        OK(pthread_mutex_unlock(&own));
        step_done(row);
    }
    return number;
}

// Each thread has a chunk of its own, and the worker has the time to see that there are more than the file has room for. The other files
// of the trace stay below the limit.
static void *stay(void *number)
{
    sleep_ms(500);
    return number;
}

static void need_more_chunks(void)
{
    struct rlimit limit = {1 << 19, 1 << 19};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    run_threads(200, stay);
}

// What some servers do when they start.
static void close_all(void)
{
    for (int file = 3; file < 1024; file++)
        close(file);
}

static void change(char **argv)
{
    if (is("close_all"))
        close_all();
    if (is("close_stderr"))
        CHECK(close(2) == 0);
    if (is("chdir"))
        CHECK(chdir("/") == 0);
    if (is("chroot"))
        CHECK(chroot(argv[3]) == 0 && chdir("/") == 0);
    if (is("nobody"))
        CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    if (is("limit"))
        need_more_chunks();
    if (is("exec")) {
        char *const arguments[] = {argv[0], (char *)"nothing", argv[2], NULL};
        execv("/proc/self/exe", arguments);
        CHECK(0);
    }
}

static void end(void)
{
    if (is("segv"))
        *(volatile int *)8 = 1;
    if (is("abort"))
        abort();
    if (is("underscore_exit"))
        _exit(5);
    if (is("terminated"))
        raise(SIGTERM);
}

static void *work_or_end(void *number)
{
    work(number);
    if (number == NULL)
        end();
    // So that the end finds them at work.
    return (intptr_t)number % 2 ? work(number) : number;
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    mode = argv[1];
    open_progress(argv[2]);
    run_threads(2, work);
    progress->finished = atomic_load(&progress->rows);
    // Whatever begins with the first thread has begun.
    sleep_ms(100);
    change(argv);
    run_threads(4, work_or_end);
    progress->finished = atomic_load(&progress->rows);
    puts("done");
    return 7;
}
