// std::call_once whose function throws: the next caller runs it again.
#include "check.h"
#include <mutex>
#include <stdexcept>
#include <thread>

static std::once_flag flag;
static int calls, failures;
static std::mutex lock;

static void init()
{
    if (++calls < 3)
        throw std::runtime_error("not yet");
}

static void caller()
{
    try {
        std::call_once(flag, init);
    } catch (const std::runtime_error &) {
        std::lock_guard<std::mutex> hold(lock);
        failures++;
    }
}

int main()
{
    for (int i = 0; i < 5; i++)
        std::thread(caller).join();
    CHECK(calls == 3 && failures == 2);
    std::puts("ok");
}
