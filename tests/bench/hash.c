/* A chained hash table under striped locks: short sections, addresses without a pattern. */
#include "timing.h"

enum { BUCKETS = 1 << 16, STRIPES = 64, OPERATIONS = 1500000 };

struct node {
    struct node *next;
    uint64_t key, value;
};

static struct node *buckets[BUCKETS];
static pthread_mutex_t locks[STRIPES];

static struct node *find(uint64_t bucket, uint64_t key) {
    struct node *node = buckets[bucket];
    while (node != NULL && node->key != key)
        node = node->next;
    return node;
}

static void add(uint64_t key) {
    uint64_t bucket = key * 0x9E3779B97F4A7C15u >> 48;
    pthread_mutex_t *lock = &locks[bucket % STRIPES];
    pthread_mutex_lock(lock);
    struct node *node = find(bucket, key);
    if (node == NULL) {
        node = malloc(sizeof *node);
        *node = (struct node){buckets[bucket], key, 0};
        buckets[bucket] = node;
    }
    node->value++;
    pthread_mutex_unlock(lock);
}

static void *work(void *number) {
    uint64_t random = (uint64_t)(intptr_t)number + 88172645463325252u;
    for (int i = 0; i < OPERATIONS; i++)
        add(next_random(&random) % 200000);
    return NULL;
}

int main(int count, char **arguments) {
    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&locks[i], NULL);
    return measure(count, arguments, work);
}
