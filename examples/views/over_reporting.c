/* A measuring station: one thread stores temperature and pressure together, others want only one of them, or each for itself. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { MEASUREMENTS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int temperature, pressure;
} station;

struct highest {
    int temperature, pressure;
};

static void store(int temperature, int pressure)
{
    pthread_mutex_lock(&lock);
    station.temperature = temperature;
    station.pressure = pressure;
    pthread_mutex_unlock(&lock);
}

static int get_temperature(void)
{
    pthread_mutex_lock(&lock);
    int temperature = station.temperature;
    pthread_mutex_unlock(&lock);
    return temperature;
}

static int get_pressure(void)
{
    pthread_mutex_lock(&lock);
    int pressure = station.pressure;
    pthread_mutex_unlock(&lock);
    return pressure;
}

static void *measure(void *argument)
{
    (void)argument;
    for (int i = 1; i <= MEASUREMENTS; i++) {
        store(20 + i, 1000 + i);
        usleep(300);
    }
    return NULL;
}

/* Right: the two are read one after the other, but nothing is made from both. */
static void *keep_highest(void *argument)
{
    struct highest *highest = argument;
    for (int i = 0; i < MEASUREMENTS; i++) {
        int temperature = get_temperature();
        if (temperature > highest->temperature)
            highest->temperature = temperature;
        int pressure = get_pressure();
        if (pressure > highest->pressure)
            highest->pressure = pressure;
    }
    return NULL;
}

int main(void)
{
    struct highest highest = {0, 0};
    pthread_t meter, keeper;
    pthread_create(&meter, NULL, measure, NULL);
    usleep(1000);
    pthread_create(&keeper, NULL, keep_highest, &highest);
    pthread_join(meter, NULL);
    pthread_join(keeper, NULL);
    printf("in range: %d\n", highest.temperature <= 23 && highest.pressure <= 1003);
    return 0;
}
