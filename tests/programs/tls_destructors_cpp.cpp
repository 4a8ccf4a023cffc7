// thread_local objects whose destructors lock, in threads and in main.
#include "check.h"
#include <mutex>
#include <thread>

static std::mutex lock;
static int destroyed;

struct Local {
    int value = 0;
    ~Local()
    {
        std::lock_guard<std::mutex> hold(lock);
        destroyed++;
        if (value == 2)
            std::printf("main's local goes, %d destroyed\n", destroyed);
    }
};

static thread_local Local local;

int main()
{
    local.value = 2;
    for (int i = 0; i < 10; i++)
        std::thread([] { local.value = 1; }).join();
    CHECK(destroyed == 10);
}
