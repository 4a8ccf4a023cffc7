// Threads that get the address of their creator's variable, fill it, and count in a variable of their own kind.
// reads: 500
#include "../stress.h"

enum { DEPTH = 3, WIDTH = 3, ROUNDS = 6 };

struct task {
    int depth;
    long sum;
    short marks[WIDTH];
};

static __thread long own, rounds;

static void *work(void *argument)
{
    struct task *task = (struct task *)argument;
    // A new thread's own variables are new, though their memory was somebody else's.
    CHECK(own == 0 && rounds == 0);
    struct task tasks[WIDTH];
    pthread_t *ids = (pthread_t *)malloc(sizeof *ids * WIDTH);
    for (int i = 0; i < WIDTH && task->depth > 0; i++) {
        tasks[i].depth = task->depth - 1;
        tasks[i].sum = 0;
        for (int j = 0; j < WIDTH; j++)
            tasks[i].marks[j] = 0;
        OK(pthread_create(&ids[i], NULL, work, &tasks[i]));
    }
    own = 1;
    for (rounds = 0; rounds < 20; rounds++)
        own += rounds;
    for (int i = 0; i < WIDTH && task->depth > 0; i++) {
        OK(pthread_join(ids[i], NULL));
        CHECK(tasks[i].marks[WIDTH - 1] == WIDTH);
        task->sum += tasks[i].sum;
    }
    free(ids);
    task->sum += own;
    for (int i = 0; i < WIDTH; i++)
        task->marks[i] = (short)(i + 1);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct task task = {DEPTH, 0, {0}};
        pthread_t *id = (pthread_t *)malloc(sizeof *id);
        OK(pthread_create(id, NULL, work, &task));
        OK(pthread_join(*id, NULL));
        free(id);
        CHECK(task.sum == 191 * (1 + WIDTH + WIDTH * WIDTH + WIDTH * WIDTH * WIDTH));
    }
    return 0;
}
