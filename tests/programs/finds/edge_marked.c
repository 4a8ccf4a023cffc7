// A wait of the program's own making, described by marks.
#include "shared_value.h"
#include "avmon.h"

static int pipe_ends[2];
__attribute__((constructor)) static void init(void) { OK(pipe(pipe_ends)); }

static void release(void)
{
    AVMON_SIGNAL(pipe_ends);
    CHECK(write(pipe_ends[1], "x", 1) == 1);
}

static void await(void)
{
    char byte;
    CHECK(read(pipe_ends[0], &byte, 1) == 1);
    AVMON_AWAIT(pipe_ends);
}

#define RELEASE() release()
#define AWAIT() await()
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
