// How far a program came, in a file that outlives it.
//
// Every worker has a row, and adds 1 to it after each step, in instrumented code: so a recording that has everything that was
// published has as many writes to that address as the row says, or one more.
#ifndef PROGRESS_H
#define PROGRESS_H

#include "../stress.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { ROWS = 1 << 16 };

struct row {
    long pid;
    long lock;  // The address of the lock that is taken once per step, or 0.
    long steps;
    long address; // Of the steps.
};

static struct file {
    atomic_long rows;
    // So many rows, the first ones, have all their steps before the program comes to its end.
    long finished;
    long unused[2];
    struct row row[ROWS];
} *progress;

static inline void open_progress(const char *path)
{
    int file = open(path, O_RDWR);
    CHECK(file >= 0);
    progress = (struct file *)mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(progress != MAP_FAILED);
    close(file);
}

static inline struct row *new_row(void *lock)
{
    struct row *row = &progress->row[atomic_fetch_add(&progress->rows, 1) % ROWS];
    row->lock = (long)lock;
    row->address = (long)&row->steps;
    row->pid = getpid();
    return row;
}

static inline void step_done(struct row *row)
{
    row->steps++;
    // A loop that never ends and calls nobody would otherwise not need to write.
    __asm__ volatile("" ::: "memory");
}

#endif
