/* A binary search tree of each thread's own, and one shared under a lock: recursion, pointers, allocation. */
#include "timing.h"

enum { OPERATIONS = 400000, SHARED_EVERY = 16 };

struct node {
    struct node *left, *right;
    uint64_t key, count;
};

static struct node *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *insert(struct node *node, uint64_t key) {
    if (node == NULL) {
        node = malloc(sizeof *node);
        *node = (struct node){NULL, NULL, key, 1};
    } else if (key < node->key) {
        node->left = insert(node->left, key);
    } else if (key > node->key) {
        node->right = insert(node->right, key);
    } else {
        node->count++;
    }
    return node;
}

static void *work(void *number) {
    uint64_t random = (uint64_t)(intptr_t)number + 88172645463325252u;
    struct node *own = NULL;
    for (int i = 0; i < OPERATIONS; i++) {
        uint64_t key = next_random(&random) % 50000;
        if (i % SHARED_EVERY == 0) {
            pthread_mutex_lock(&lock);
            shared = insert(shared, key);
            pthread_mutex_unlock(&lock);
        } else {
            own = insert(own, key);
        }
    }
    return NULL;
}

int main(int count, char **arguments) {
    return measure(count, arguments, work);
}
