// As atom001, but the second thread appends only after it was told that the first one has done: no order can split them.
#include "two_threads.h"
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long out_count;
static char out_buffer[256];
static long is_idle;

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
    pthread_mutex_lock(&lock);
    is_idle = 1;
    pthread_mutex_unlock(&lock);
}

static void second(void)
{
    pthread_mutex_lock(&lock);
    long may_log = is_idle;
    pthread_mutex_unlock(&lock);
    if (may_log)
        log_line("GET /b\r\n");
}
