/* A session writes to its buffer as long as it is open; somebody else closes it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CAPACITY = 64 };

struct session {
    atomic_long is_open;
    pthread_mutex_t lock;
    char *buffer;
};

static struct session session = {1, PTHREAD_MUTEX_INITIALIZER, NULL};

/* The flag is atomic for those who only look; whoever relies on it holds the lock. */
static long send_line(const char *line)
{
    pthread_mutex_lock(&session.lock);
    long is_open = atomic_load(&session.is_open);
    if (is_open)
        strcat(session.buffer, line);
    pthread_mutex_unlock(&session.lock);
    return is_open;
}

static void close_session(void)
{
    pthread_mutex_lock(&session.lock);
    atomic_store(&session.is_open, 0);
    free(session.buffer);
    session.buffer = NULL;
    pthread_mutex_unlock(&session.lock);
}

static void *client(void *lines_sent)
{
    *(long *)lines_sent = send_line("hello\n");
    return NULL;
}

static void *housekeeper(void *unused)
{
    usleep(50000);
    close_session();
    return unused;
}

int main(void)
{
    long lines_sent;
    pthread_t threads[2];
    session.buffer = calloc(CAPACITY, 1);
    pthread_create(&threads[0], NULL, client, &lines_sent);
    pthread_create(&threads[1], NULL, housekeeper, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%ld line(s) sent, session is %s\n", lines_sent, session.is_open ? "open" : "closed");
    return 0;
}
