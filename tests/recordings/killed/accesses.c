// Threads that do nothing but read and write memory.
#include "progress.h"

enum { CELLS = 64 };

static void smooth(long *cells)
{
    for (int i = 1; i < CELLS; i++)
        cells[i] += cells[i - 1] ^ i;
}

static void *work(void *number)
{
    long *cells = (long *)calloc(CELLS, sizeof *cells);
    struct row *row = new_row(NULL);
    for (;;) {
        smooth(cells);
        step_done(row);
    }
    return number;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    open_progress(argv[1]);
    run_threads(3, work);
    return 0;
}
