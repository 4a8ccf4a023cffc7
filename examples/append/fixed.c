/* A shared text is appended to other texts while somebody may shorten it, like StringBuffer.append. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct text {
    pthread_mutex_t lock;
    size_t length;
    char bytes[64];
};

static struct text shared = {PTHREAD_MUTEX_INITIALIZER, 12, "twelve bytes"};
static struct text copies[2] = {
    {PTHREAD_MUTEX_INITIALIZER, 2, "> "},
    {PTHREAD_MUTEX_INITIALIZER, 2, "# "},
};

static size_t snapshot(struct text *from, char *to)
{
    pthread_mutex_lock(&from->lock);
    size_t length = from->length;
    memcpy(to, from->bytes, length);
    pthread_mutex_unlock(&from->lock);
    return length;
}

static void set_length(struct text *text, size_t length)
{
    pthread_mutex_lock(&text->lock);
    memset(text->bytes + length, 0, text->length - length);
    text->length = length;
    pthread_mutex_unlock(&text->lock);
}

static void append(struct text *to, struct text *from)
{
    char bytes[sizeof from->bytes];
    size_t length = snapshot(from, bytes);

    pthread_mutex_lock(&to->lock);
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
    pthread_mutex_unlock(&to->lock);
}

static void *copier(void *copy)
{
    append(copy, &shared);
    return NULL;
}

static void *shortener(void *unused)
{
    usleep(50000);
    set_length(&shared, 6);
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, copier, &copies[0]);
    pthread_create(&threads[1], NULL, copier, &copies[1]);
    pthread_create(&threads[2], NULL, shortener, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 2; i++)
        printf("%s (%zu bytes)\n", copies[i].bytes, copies[i].length);
    printf("%s (%zu bytes)\n", shared.bytes, shared.length);
    return 0;
}
