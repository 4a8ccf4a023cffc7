// A filter between two pipes: a reading and a writing thread.
// shell: seq 1 20000 | {run} | tail -n 3
#include "check.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum;

static void *adder(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        OK(pthread_mutex_lock(&lock));
        sum++;
        OK(pthread_mutex_unlock(&lock));
    }
    return unused;
}

static void run_two(void)
{
    pthread_t a, b;
    OK(pthread_create(&a, NULL, adder, NULL));
    OK(pthread_create(&b, NULL, adder, NULL));
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char line[100];
static int full, end;

static void put(const char *text)
{
    OK(pthread_mutex_lock(&lock));
    while (full)
        OK(pthread_cond_wait(&changed, &lock));
    if (text)
        strcpy(line, text);
    else
        end = 1;
    full = 1;
    OK(pthread_cond_broadcast(&changed));
    OK(pthread_mutex_unlock(&lock));
}

static int take(char *text)
{
    OK(pthread_mutex_lock(&lock));
    while (!full)
        OK(pthread_cond_wait(&changed, &lock));
    int more = !end;
    strcpy(text, line);
    full = 0;
    OK(pthread_cond_broadcast(&changed));
    OK(pthread_mutex_unlock(&lock));
    return more;
}

static void *reader(void *unused)
{
    char text[100];
    while (fgets(text, sizeof text, stdin))
        put(text);
    put(NULL);
    return unused;
}

int main(void)
{
    pthread_t id;
    char text[100];
    run_two();
    OK(pthread_create(&id, NULL, reader, NULL));
    while (take(text))
        printf("> %s", text);
    OK(pthread_join(id, NULL));
    return 0;
}
