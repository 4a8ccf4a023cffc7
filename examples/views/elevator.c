/* A house with lifts. People press buttons on the floors; the lifts go up and down all day, stop everywhere and take along who waits.
 * A lift claims a floor, so that its number is shown there. The house counts stops, trips until the next inspection and the longest wait.
 *
 * "Controls" is what is atomic: each function there is one block. What the lifts and people do with it is made of several, and each
 * of these looks in one block and acts in the next on what it saw. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { FLOORS = 5, LIFTS = 2, PEOPLE = 3, PRESSES = 4, SWEEPS = 2, ROOM = 4, NOBODY = 0, TRIPS = 100 };

/* A floor's lock protects all of it. */
struct floor {
    pthread_mutex_t lock;
    int up_waiting, down_waiting; /* people */
    int up_claimed, down_claimed; /* number of the lift that is shown, or NOBODY */
    int up_lamp, down_lamp;       /* whether the button is lit */
};

/* The lock of the house protects what is not of one floor. */
struct house {
    pthread_mutex_t lock;
    int up_stops, down_stops;
    int up_trips, down_trips; /* until the next inspection */
    int up_longest, down_longest;
};

static struct floor floors[FLOORS];
static struct house house = {.lock = PTHREAD_MUTEX_INITIALIZER, .up_trips = TRIPS, .down_trips = TRIPS};

/* Controls. */

static int check_up(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    int free = floors[floor].up_waiting > 0 && floors[floor].up_claimed == NOBODY;
    pthread_mutex_unlock(&floors[floor].lock);
    return free;
}

static void set_up_claim(int floor, int lift)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].up_claimed = lift;
    pthread_mutex_unlock(&floors[floor].lock);
}

static int get_up_waiting(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    int waiting = floors[floor].up_waiting;
    pthread_mutex_unlock(&floors[floor].lock);
    return waiting;
}

static void add_up_waiting(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].up_waiting++;
    pthread_mutex_unlock(&floors[floor].lock);
}

static void take_up(int floor, int people)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].up_waiting -= people;
    pthread_mutex_unlock(&floors[floor].lock);
}

static void set_up_lamp(int floor, int lit)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].up_lamp = lit;
    pthread_mutex_unlock(&floors[floor].lock);
}

static int get_up_stops(void)
{
    pthread_mutex_lock(&house.lock);
    int stops = house.up_stops;
    pthread_mutex_unlock(&house.lock);
    return stops;
}

static void set_up_stops(int stops)
{
    pthread_mutex_lock(&house.lock);
    house.up_stops = stops;
    pthread_mutex_unlock(&house.lock);
}

static int get_up_trips(void)
{
    pthread_mutex_lock(&house.lock);
    int trips = house.up_trips;
    pthread_mutex_unlock(&house.lock);
    return trips;
}

static void set_up_trips(int trips)
{
    pthread_mutex_lock(&house.lock);
    house.up_trips = trips;
    pthread_mutex_unlock(&house.lock);
}

static int get_up_longest(void)
{
    pthread_mutex_lock(&house.lock);
    int longest = house.up_longest;
    pthread_mutex_unlock(&house.lock);
    return longest;
}

static void set_up_longest(int longest)
{
    pthread_mutex_lock(&house.lock);
    house.up_longest = longest;
    pthread_mutex_unlock(&house.lock);
}

static int check_down(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    int free = floors[floor].down_waiting > 0 && floors[floor].down_claimed == NOBODY;
    pthread_mutex_unlock(&floors[floor].lock);
    return free;
}

static void set_down_claim(int floor, int lift)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].down_claimed = lift;
    pthread_mutex_unlock(&floors[floor].lock);
}

static int get_down_waiting(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    int waiting = floors[floor].down_waiting;
    pthread_mutex_unlock(&floors[floor].lock);
    return waiting;
}

static void add_down_waiting(int floor)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].down_waiting++;
    pthread_mutex_unlock(&floors[floor].lock);
}

static void take_down(int floor, int people)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].down_waiting -= people;
    pthread_mutex_unlock(&floors[floor].lock);
}

static void set_down_lamp(int floor, int lit)
{
    pthread_mutex_lock(&floors[floor].lock);
    floors[floor].down_lamp = lit;
    pthread_mutex_unlock(&floors[floor].lock);
}

static int get_down_stops(void)
{
    pthread_mutex_lock(&house.lock);
    int stops = house.down_stops;
    pthread_mutex_unlock(&house.lock);
    return stops;
}

static void set_down_stops(int stops)
{
    pthread_mutex_lock(&house.lock);
    house.down_stops = stops;
    pthread_mutex_unlock(&house.lock);
}

static int get_down_trips(void)
{
    pthread_mutex_lock(&house.lock);
    int trips = house.down_trips;
    pthread_mutex_unlock(&house.lock);
    return trips;
}

static void set_down_trips(int trips)
{
    pthread_mutex_lock(&house.lock);
    house.down_trips = trips;
    pthread_mutex_unlock(&house.lock);
}

static int get_down_longest(void)
{
    pthread_mutex_lock(&house.lock);
    int longest = house.down_longest;
    pthread_mutex_unlock(&house.lock);
    return longest;
}

static void set_down_longest(int longest)
{
    pthread_mutex_lock(&house.lock);
    house.down_longest = longest;
    pthread_mutex_unlock(&house.lock);
}

/* What is made of it: everything here is wrong. */

/* The first who waits takes down the number of the lift that was there last. Another may have come since, and a lift for both. */
static void press_up(int floor)
{
    if (get_up_waiting(floor) == 0)  /* violation 1: first */
        set_up_claim(floor, NOBODY); /* violation 1: second */
    add_up_waiting(floor);           /* violation 1: other */ /* violation 4: other */ /* violation 5: other */
}

/* Two lifts may be shown one after the other. */
static void claim_up(int lift, int floor)
{
    if (check_up(floor))           /* violation 2: first */
        set_up_claim(floor, lift); /* violation 2: second */ /* violation 2: other */
}

/* Another lift may take the same people. */
static int board_up(int floor, int room)
{
    int people = get_up_waiting(floor); /* violation 3: first */
    if (people > room)
        people = room;
    take_up(floor, people); /* violation 3: second */ /* violation 3: other */
    return people;
}

/* Who comes after the look sees the number of a lift that is gone. */
static void reopen_up(int floor)
{
    if (get_up_waiting(floor) > 0)   /* violation 4: first */
        set_up_claim(floor, NOBODY); /* violation 4: second */
}

/* Who comes after the look waits at a dark button. */
static void refresh_up_lamp(int floor)
{
    int waiting = get_up_waiting(floor); /* violation 5: first */
    set_up_lamp(floor, waiting > 0);     /* violation 5: second */
}

/* The other lift's stop is lost. */
static void count_up_stop(void)
{
    int stops = get_up_stops(); /* violation 6: first */
    set_up_stops(stops + 1);    /* violation 6: second */ /* violation 6: other */
}

/* The other lift's trip is lost. */
static void count_up_trip(void)
{
    int left = get_up_trips(); /* violation 7: first */
    if (left > 0)
        set_up_trips(left - 1); /* violation 7: second */ /* violation 7: other */
}

/* The other lift's wait was longer, and is overwritten. */
static void note_up_wait(int ticks)
{
    if (get_up_longest() < ticks) /* violation 8: first */
        set_up_longest(ticks);    /* violation 8: second */ /* violation 8: other */
}

/* The first who waits takes down the number of the lift that was there last. Another may have come since, and a lift for both. */
static void press_down(int floor)
{
    if (get_down_waiting(floor) == 0)  /* violation 9: first */
        set_down_claim(floor, NOBODY); /* violation 9: second */
    add_down_waiting(floor);           /* violation 9: other */ /* violation 12: other */ /* violation 13: other */
}

/* Two lifts may be shown one after the other. */
static void claim_down(int lift, int floor)
{
    if (check_down(floor))           /* violation 10: first */
        set_down_claim(floor, lift); /* violation 10: second */ /* violation 10: other */
}

/* Another lift may take the same people. */
static int board_down(int floor, int room)
{
    int people = get_down_waiting(floor); /* violation 11: first */
    if (people > room)
        people = room;
    take_down(floor, people); /* violation 11: second */ /* violation 11: other */
    return people;
}

/* Who comes after the look sees the number of a lift that is gone. */
static void reopen_down(int floor)
{
    if (get_down_waiting(floor) > 0)   /* violation 12: first */
        set_down_claim(floor, NOBODY); /* violation 12: second */
}

/* Who comes after the look waits at a dark button. */
static void refresh_down_lamp(int floor)
{
    int waiting = get_down_waiting(floor); /* violation 13: first */
    set_down_lamp(floor, waiting > 0);     /* violation 13: second */
}

/* The other lift's stop is lost. */
static void count_down_stop(void)
{
    int stops = get_down_stops(); /* violation 14: first */
    set_down_stops(stops + 1);    /* violation 14: second */ /* violation 14: other */
}

/* The other lift's trip is lost. */
static void count_down_trip(void)
{
    int left = get_down_trips(); /* violation 15: first */
    if (left > 0)
        set_down_trips(left - 1); /* violation 15: second */ /* violation 15: other */
}

/* The other lift's wait was longer, and is overwritten. */
static void note_down_wait(int ticks)
{
    if (get_down_longest() < ticks) /* violation 16: first */
        set_down_longest(ticks);    /* violation 16: second */ /* violation 16: other */
}

/* Lifts. */

static void stop_going_up(int lift, int floor, int *riders)
{
    claim_up(lift, floor);
    *riders += board_up(floor, ROOM - *riders);
    reopen_up(floor);
    refresh_up_lamp(floor);
    count_up_stop();
}

static void stop_going_down(int lift, int floor, int *riders)
{
    claim_down(lift, floor);
    *riders += board_down(floor, ROOM - *riders);
    reopen_down(floor);
    refresh_down_lamp(floor);
    count_down_stop();
}

/* All get out at the end of a sweep. */
static int sweep_up(int lift)
{
    int riders = 0;
    for (int floor = 0; floor < FLOORS - 1; floor++) {
        stop_going_up(lift, floor, &riders);
        note_up_wait(floor + lift);
    }
    count_up_trip();
    return riders;
}

static int sweep_down(int lift)
{
    int riders = 0;
    for (int floor = FLOORS - 1; floor > 0; floor--) {
        stop_going_down(lift, floor, &riders);
        note_down_wait(FLOORS - floor + lift);
    }
    count_down_trip();
    return riders;
}

struct shift {
    int lift;
    int carried;
};

static void *run_lift(void *argument)
{
    struct shift *shift = argument;
    usleep(2000); /* the first people get up before the lifts */
    for (int i = 0; i < SWEEPS; i++) {
        shift->carried += sweep_up(shift->lift);
        shift->carried += sweep_down(shift->lift);
        usleep(500);
    }
    return NULL;
}

/* People. */

static void *live_here(void *argument)
{
    int at = *(int *)argument;
    for (int i = 0; i < PRESSES; i++) {
        press_up((at + i) % (FLOORS - 1));
        press_down(1 + (at + i) % (FLOORS - 1));
        usleep(200);
    }
    return NULL;
}

/* The end of the day. */

static int count_left(void)
{
    int left = 0;
    for (int floor = 0; floor < FLOORS; floor++)
        left += floors[floor].up_waiting + floors[floor].down_waiting;
    return left;
}

static int count_shown(void)
{
    int shown = 0;
    for (int floor = 0; floor < FLOORS; floor++)
        shown += (floors[floor].up_claimed != NOBODY) + (floors[floor].down_claimed != NOBODY);
    return shown;
}

static int count_lit(void)
{
    int lit = 0;
    for (int floor = 0; floor < FLOORS; floor++)
        lit += floors[floor].up_lamp + floors[floor].down_lamp;
    return lit;
}

int main(void)
{
    struct shift shifts[LIFTS];
    int homes[PEOPLE];
    pthread_t lifts[LIFTS], people[PEOPLE];
    for (int floor = 0; floor < FLOORS; floor++)
        pthread_mutex_init(&floors[floor].lock, NULL);
    for (int i = 0; i < PEOPLE; i++) {
        homes[i] = i;
        pthread_create(&people[i], NULL, live_here, &homes[i]);
    }
    for (int i = 0; i < LIFTS; i++) {
        shifts[i] = (struct shift){i + 1, 0};
        pthread_create(&lifts[i], NULL, run_lift, &shifts[i]);
    }
    int carried = 0;
    for (int i = 0; i < LIFTS; i++) {
        pthread_join(lifts[i], NULL);
        carried += shifts[i].carried;
    }
    for (int i = 0; i < PEOPLE; i++)
        pthread_join(people[i], NULL);
    printf("%d of %d people, %d stops\n", carried + count_left(), 2 * PEOPLE * PRESSES, house.up_stops + house.down_stops);
    printf("%d shown, %d lit, %d trips left, longest wait %d up and %d down\n", count_shown(), count_lit(),
           house.up_trips + house.down_trips, house.up_longest, house.down_longest);
    return 0;
}
