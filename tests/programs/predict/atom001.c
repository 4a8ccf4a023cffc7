// Two threads append to the buffer of an access log: each reads the index, and moves it in a later section.
#include "two_threads.h"
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long out_count;
static char out_buffer[256];

static void log_line(const char line[8])
{
    pthread_mutex_lock(&lock);
    long at = out_count;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&lock);
    out_count = at + 8;
    memcpy(out_buffer + at, line, 8);
    pthread_mutex_unlock(&lock);
}

static void first(void)
{
    log_line("GET /a\r\n");
}

static void second(void)
{
    log_line("GET /b\r\n");
}
