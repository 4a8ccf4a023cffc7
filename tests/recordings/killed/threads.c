// Threads that live for a moment, one generation after the other.
#include "progress.h"

static void *work(void *number)
{
    struct row *row = new_row(NULL);
    for (int i = 0; i < 20; i++)
        step_done(row);
    return number;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    open_progress(argv[1]);
    while (atomic_load(&progress->rows) < ROWS - 4)
        run_threads(4, work);
    return 0;
}
