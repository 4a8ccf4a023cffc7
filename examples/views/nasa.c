/* A spacecraft's executive: tasks promise that a property of the system has a value, a daemon sees that promises are kept, sensors
 * say what the system is like. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { PROPERTIES = 3, VALVE = 1, SHUT = 0, OPEN = 1 };

struct property {
    int value;
    int achieved;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct property table[PROPERTIES];
static int system_state[PROPERTIES];
static int warnings;

static void sense(int property, int state)
{
    pthread_mutex_lock(&table_lock);
    system_state[property] = state;
    pthread_mutex_unlock(&table_lock);
}

/* The promise: this value. Not yet watched over. */
static void promise(int property, int value)
{
    pthread_mutex_lock(&table_lock);
    table[property].value = value;
    pthread_mutex_unlock(&table_lock);
}

static void watch_over(int property)
{
    pthread_mutex_lock(&table_lock);
    table[property].achieved = 1;
    pthread_mutex_unlock(&table_lock);
}

/* Wrong: while the promise before is still marked as achieved, the daemon compares with the new value. */
static void lock_property(int property, int value)
{
    promise(property, value); /* violation 1: first */
    usleep(500);              /* the command goes out to the device */
    watch_over(property);     /* violation 1: second */
}

static void check(int property)
{
    pthread_mutex_lock(&table_lock);
    if (table[property].achieved && system_state[property] != table[property].value) /* violation 1: other */
        warnings++;
    pthread_mutex_unlock(&table_lock);
}

static void *task(void *argument)
{
    (void)argument;
    lock_property(VALVE, OPEN);
    lock_property(VALVE, SHUT);
    return NULL;
}

static void *sensor(void *argument)
{
    (void)argument;
    sense(VALVE, OPEN);
    usleep(3000);
    sense(VALVE, SHUT);
    return NULL;
}

static void *daemon_thread(void *argument)
{
    (void)argument;
    for (int round = 0; round < 4; round++) {
        for (int property = 0; property < PROPERTIES; property++)
            check(property);
        usleep(500);
    }
    return NULL;
}

int main(void)
{
    void *(*const parts[])(void *) = {sensor, task, daemon_thread};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    pthread_t threads[PARTS];
    for (int i = 0; i < PARTS; i++) {
        pthread_create(&threads[i], NULL, parts[i], NULL);
        usleep(500);
    }
    for (int i = 0; i < PARTS; i++)
        pthread_join(threads[i], NULL);
    printf("valve %d, promised %d, warnings %d\n", system_state[VALVE], table[VALVE].value, warnings);
    return 0;
}
