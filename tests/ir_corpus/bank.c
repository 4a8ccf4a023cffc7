// What the reader must understand of C.
#include <pthread.h>
#include <string.h>

struct account {
    pthread_mutex_t lock;
    int balance;
    unsigned open : 1, frozen : 1, branch : 10;
    struct {
        long first, last;
    } days;
    union {
        int whole;
        float part;
    } rate;
    union {
        int tag;
        char letters[4];
    };
    char owner[16];
};

typedef struct {
    int x, y;
} point;

enum kind { IN, OUT, NONE };

struct account accounts[4];
static struct account *favourite = &accounts[2];
point origin;
static __thread int depth;
long *oldest = &accounts[1].days.last;
volatile int stop;

static int add(int n, int by) { return n + by; }
static int take(int n, int by) { return n - by; }
int (*const steps[])(int, int) = {add, take};

__attribute__((annotate("atomic"))) int deposit(struct account *to, int amount) {
    static int calls;
    pthread_mutex_lock(&to->lock);
    calls++;
    to->balance += amount;
    to->open = 1;
    int now = to->balance;
    pthread_mutex_unlock(&to->lock);
    return now;
}

int deposit_again(struct account *to, int amount) __attribute__((alias("deposit")));

long sum(int count) {
    long all = 0;
    for (int i = 0; i < count; i++) {
        switch (i & 3) {
        case 0: all += accounts[i].balance; break;
        case 1: all -= accounts[i].days.first; break;
        case 2: continue;
        default: all += accounts[3].owner[i];
        }
    }
    return all ? all : -1;
}

int step(enum kind kind, int n) { return steps[kind](n, origin.x); }

void renew(point at, struct account whole) {
    origin = at;
    origin.y = at.x;
    accounts[1].days.first = whole.days.first;
    accounts[0].lock = whole.lock;
    favourite->rate.part = 1.5f;
    favourite->tag = 7;
    accounts[0].rate.whole = 3;
    memcpy(favourite->owner, whole.owner, sizeof whole.owner);
    depth++;
}

int update(int *count, int limit) {
    int old = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    while (old < limit && !__atomic_compare_exchange_n(count, &old, old + 1, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    __atomic_fetch_add(&accounts[0].balance, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    return deposit_again(&accounts[0], old);
}

int jump(int n, ...) {
    static void *const places[] = {&&first, &&second};
    int squares[n];
    __builtin_va_list rest;
    __builtin_va_start(rest, n);
    squares[n - 1] = __builtin_va_arg(rest, int);
    __builtin_va_end(rest);
    __asm__ volatile("" : "+r"(n) : : "memory");
    goto *places[n & 1];
first:
    return squares[0];
second:
    return jump(1, n, 2.0);
}

static void *worker(void *argument) {
    struct account *own = argument;
    deposit(own, 1);
    return 0;
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, worker, &accounts[1])) return 1;
    update(&accounts[2].balance, 3);
    return pthread_join(thread, 0);
}
