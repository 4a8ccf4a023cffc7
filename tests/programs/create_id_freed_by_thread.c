// A thread that unmaps the memory into which pthread_create stored its id, perhaps before pthread_create returns.
#include "check.h"
#include <sys/mman.h>

struct worker {
    pthread_t id;
};

static void *leave(void *self)
{
    CHECK(munmap(self, sizeof(struct worker)) == 0);
    return NULL;
}

int main(void)
{
    pthread_attr_t detached;
    OK(pthread_attr_init(&detached));
    OK(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
    for (int i = 0; i < 2000; i++) {
        struct worker *worker = mmap(NULL, sizeof *worker, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(worker != MAP_FAILED);
        OK(pthread_create(&worker->id, &detached, leave, worker));
    }
    puts("ok");
    return 0;
}
