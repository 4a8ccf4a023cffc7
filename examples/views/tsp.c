/* The shortest round trip through all cities, by branch and bound. Workers take partial tours from a shared queue, the most promising
 * first; short ones are split into longer ones, long ones are searched to the end. All of them know the best length so far. */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CITIES = 9, WORKERS = 3, TOURS = 512, SPLIT_BELOW = 4, NO_TOUR = -1 };

struct tour {
    int cities[CITIES];
    int count;
    int length;
    int bound; /* no round trip that begins so is shorter */
};

/* A heap of tours by their bound. Slots that are not in it are in the list of free ones. */
struct queue {
    pthread_mutex_t lock;
    struct tour tours[TOURS];
    int heap[TOURS];
    int waiting;
    int free_slots[TOURS];
    int free_count;
    int working; /* workers that have not yet found it empty */
};

struct best {
    pthread_mutex_t lock;
    atomic_int length; /* written with the lock held, read by all at any time: to know an old length costs time only */
    int cities[CITIES];
    int improvements;
};

static int distances[CITIES][CITIES];
static int nearest[CITIES]; /* length of the shortest way out of each city */
static struct queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct best best = {.lock = PTHREAD_MUTEX_INITIALIZER, .length = INT_MAX};

/* The map. */

static void make_map(void)
{
    unsigned random = 12345;
    int x[CITIES], y[CITIES];
    for (int i = 0; i < CITIES; i++) {
        random = random * 1103515245u + 12345u;
        x[i] = (int)(random >> 16) % 100;
        random = random * 1103515245u + 12345u;
        y[i] = (int)(random >> 16) % 100;
    }
    for (int i = 0; i < CITIES; i++) {
        nearest[i] = INT_MAX;
        for (int j = 0; j < CITIES; j++) {
            int across = x[i] > x[j] ? x[i] - x[j] : x[j] - x[i];
            int along = y[i] > y[j] ? y[i] - y[j] : y[j] - y[i];
            distances[i][j] = across + along;
            if (i != j && distances[i][j] < nearest[i])
                nearest[i] = distances[i][j];
        }
    }
}

/* Tours. */

static int visits(const struct tour *tour, int city)
{
    for (int i = 0; i < tour->count; i++)
        if (tour->cities[i] == city)
            return 1;
    return 0;
}

static int last_city(const struct tour *tour)
{
    return tour->cities[tour->count - 1];
}

static void find_bound(struct tour *tour)
{
    tour->bound = tour->length + nearest[last_city(tour)];
    for (int city = 0; city < CITIES; city++)
        if (!visits(tour, city))
            tour->bound += nearest[city];
}

static void extend(struct tour *tour, int city)
{
    tour->length += distances[last_city(tour)][city];
    tour->cities[tour->count++] = city;
    find_bound(tour);
}

static int round_trip(const struct tour *tour)
{
    return tour->length + distances[last_city(tour)][tour->cities[0]];
}

/* The best tour. */

/* Right: whether it is better is asked again, with the lock held. */
static void set_best(const struct tour *tour, int length)
{
    pthread_mutex_lock(&best.lock);
    if (length < best.length) {
        best.length = length;
        memcpy(best.cities, tour->cities, sizeof best.cities);
        best.improvements++;
    }
    pthread_mutex_unlock(&best.lock);
}

/* The queue; all of this with its lock held. */

static int comes_before(int slot, int other)
{
    return queue.tours[slot].bound < queue.tours[other].bound;
}

static void exchange(int place, int other)
{
    int slot = queue.heap[place];
    queue.heap[place] = queue.heap[other];
    queue.heap[other] = slot;
}

static void push(int slot)
{
    int place = queue.waiting++;
    queue.heap[place] = slot;
    while (place > 0 && comes_before(queue.heap[place], queue.heap[(place - 1) / 2])) {
        exchange(place, (place - 1) / 2);
        place = (place - 1) / 2;
    }
}

static int pop(void)
{
    int top = queue.heap[0];
    queue.heap[0] = queue.heap[--queue.waiting];
    for (int place = 0;;) {
        int child = 2 * place + 1;
        if (child >= queue.waiting)
            break;
        if (child + 1 < queue.waiting && comes_before(queue.heap[child + 1], queue.heap[child]))
            child++;
        if (!comes_before(queue.heap[child], queue.heap[place]))
            break;
        exchange(place, child);
        place = child;
    }
    return top;
}

static int new_slot(void)
{
    return queue.free_count == 0 ? NO_TOUR : queue.free_slots[--queue.free_count];
}

static void split(int slot)
{
    for (int city = 0; city < CITIES; city++) {
        if (visits(&queue.tours[slot], city))
            continue;
        int longer = new_slot();
        if (longer == NO_TOUR)
            break;
        queue.tours[longer] = queue.tours[slot];
        extend(&queue.tours[longer], city);
        push(longer);
    }
    queue.free_slots[queue.free_count++] = slot;
}

/* Takes the most promising tour out of the queue, splits it while it is short. */
static int take(struct tour *taken)
{
    while (queue.waiting > 0) {
        int slot = pop();
        if (queue.tours[slot].count < SPLIT_BELOW) {
            split(slot);
            continue;
        }
        *taken = queue.tours[slot];
        queue.free_slots[queue.free_count++] = slot;
        return 1;
    }
    return 0;
}

/* Workers. */

/* Right: who takes a tour takes it out of the queue, so that the copy is the only one. */
static int get_tour(struct tour *taken)
{
    pthread_mutex_lock(&queue.lock);
    int found = take(taken);
    if (!found)
        queue.working--;
    pthread_mutex_unlock(&queue.lock);
    return found;
}

static void solve(const struct tour *tour)
{
    if (tour->bound >= best.length)
        return;
    if (tour->count == CITIES) {
        int length = round_trip(tour);
        if (length < best.length)
            set_best(tour, length);
        return;
    }
    for (int city = 0; city < CITIES; city++) {
        if (visits(tour, city))
            continue;
        struct tour longer = *tour;
        extend(&longer, city);
        solve(&longer);
    }
}

static void *worker(void *argument)
{
    int *solved = argument;
    struct tour tour;
    while (get_tour(&tour)) {
        solve(&tour);
        ++*solved;
    }
    return NULL;
}

static void begin(void)
{
    for (int slot = TOURS - 1; slot >= 0; slot--)
        queue.free_slots[queue.free_count++] = slot;
    int first = new_slot();
    queue.tours[first] = (struct tour){.cities = {0}, .count = 1};
    find_bound(&queue.tours[first]);
    push(first);
    queue.working = WORKERS;
}

int main(void)
{
    int solved[WORKERS] = {0};
    pthread_t workers[WORKERS];
    make_map();
    begin();
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i], NULL, worker, &solved[i]);
    int all = 0;
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i], NULL);
        all += solved[i];
    }
    printf("%d tours, none left: %d, shortest %d:", all, queue.working == 0 && queue.waiting == 0, best.length);
    /* Its two directions are equally long. */
    int backwards = best.cities[1] > best.cities[CITIES - 1];
    for (int i = 0; i < CITIES; i++)
        printf(" %d", best.cities[backwards ? (CITIES - i) % CITIES : i]);
    printf("\n");
    return 0;
}
