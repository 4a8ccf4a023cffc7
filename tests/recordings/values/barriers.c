// A line of cells in two copies: every phase reads the neighbours in one and writes the other, a barrier between.
// reads: 20000
#include "../stress.h"

enum { CELLS = THREADS * 16, PHASES = 60 };

static pthread_barrier_t barrier;
static unsigned cells[2][CELLS];
static int serials;

static void *work(void *number)
{
    int begin = (int)(intptr_t)number * (CELLS / THREADS);
    for (int phase = 0; phase < PHASES; phase++) {
        const unsigned *from = cells[phase % 2];
        unsigned *to = cells[1 - phase % 2];
        for (int i = begin; i < begin + CELLS / THREADS; i++)
            to[i] = from[(i + CELLS - 1) % CELLS] + from[(i + 1) % CELLS] + from[i] + 1;
        int code = pthread_barrier_wait(&barrier);
        CHECK(code == 0 || code == PTHREAD_BARRIER_SERIAL_THREAD);
        // The one that is chosen has the next phase for this, and the barrier after it.
        if (code == PTHREAD_BARRIER_SERIAL_THREAD)
            serials++;
    }
    return NULL;
}

int main(void)
{
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < CELLS; i++)
        cells[0][i] = i;
    run_threads(THREADS, work);
    CHECK(serials == PHASES);
    OK(pthread_barrier_destroy(&barrier));
    return 0;
}
