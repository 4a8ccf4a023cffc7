/* Two threads share a text: one appends it to a copy, the other shortens it. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char shared[32] = "twelve bytes";
static size_t shared_length = 12;
static char copy[32];

static size_t length(void)
{
    pthread_mutex_lock(&lock);
    size_t result = shared_length;
    pthread_mutex_unlock(&lock);
    return result;
}

static void copy_bytes(size_t count)
{
    pthread_mutex_lock(&lock);
    memcpy(copy, shared, count);
    pthread_mutex_unlock(&lock);
}

static void set_length(size_t new_length)
{
    pthread_mutex_lock(&lock);
    memset(shared + new_length, '?', shared_length - new_length);
    shared_length = new_length;
    pthread_mutex_unlock(&lock);
}

static void append(void)
{
    size_t count = length();
    /* Nobody holds the lock here: the text can become shorter. */
    copy_bytes(count);
}

static void *appender(void *unused)
{
    append();
    return unused;
}

static void *shortener(void *unused)
{
    usleep(100 * 1000);
    set_length(6);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, appender, NULL);
    pthread_create(&threads[1], NULL, shortener, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    printf("the copy is '%s'\n", copy);
    return 0;
}
