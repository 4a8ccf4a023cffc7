// Makes a trace of many megabytes, then ends with status 7. Its threads end together, so that the last part of the trace has the ends of all.
#include "killed/progress.h"

enum { CELLS = 4096, WRITERS = 2 };

static pthread_barrier_t all_done;

static void scatter(unsigned *cells, unsigned *random)
{
    for (int i = 0; i < CELLS; i++)
        cells[next_random(random) % CELLS] += i;
}

static void *work(void *number)
{
    unsigned *cells = (unsigned *)calloc(CELLS, sizeof *cells), *random = (unsigned *)malloc(sizeof *random);
    *random = (unsigned)(intptr_t)number + 1;
    struct row *row = new_row(NULL);
    for (int i = 0; i < 120; i++) {
        scatter(cells, random);
        step_done(row);
    }
    pthread_barrier_wait(&all_done);
    return number;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    open_progress(argv[1]);
    CHECK(pthread_barrier_init(&all_done, NULL, WRITERS) == 0);
    run_threads(WRITERS, work);
    puts("done");
    return 7;
}
