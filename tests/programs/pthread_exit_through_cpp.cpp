// pthread_exit unwinds C++ frames: destructors run, catch (...) sees it and must rethrow.
#include "check.h"
#include <mutex>

static std::mutex lock;
static int destroyed, caught;

struct Counted {
    std::lock_guard<std::mutex> hold{lock};
    ~Counted() { destroyed++; }
};

static void deepest()
{
    Counted local;
    pthread_exit(reinterpret_cast<void *>(17));
}

static void middle()
{
    try {
        deepest();
    } catch (...) {
        caught++;
        throw;
    }
}

static void *thread(void *)
{
    middle();
    return nullptr;
}

int main()
{
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        void *value;
        OK(pthread_create(&id, nullptr, thread, nullptr));
        OK(pthread_join(id, &value));
        CHECK(value == reinterpret_cast<void *>(17));
    }
    CHECK(destroyed == 20 && caught == 20);
    std::lock_guard<std::mutex> free_again(lock);
    std::puts("ok");
}
