// An exception leaves a critical section: the guard unlocks, nobody hangs.
#include "check.h"
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
static int failures;

static void fail()
{
    std::lock_guard<std::mutex> hold(lock);
    failures++;
    throw std::logic_error("inside");
}

static void failer()
{
    for (int i = 0; i < 1000; i++) {
        try {
            fail();
        } catch (const std::logic_error &) {
        }
    }
}

int main()
{
    std::thread a(failer), b(failer);
    a.join();
    b.join();
    CHECK(failures == 2000 && lock.try_lock());
    lock.unlock();
    std::puts("ok");
}
