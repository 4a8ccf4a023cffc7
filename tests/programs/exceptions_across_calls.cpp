// Exceptions through many instrumented frames: destructors lock, the stack of transactions must recover.
// findings: any
#include "check.h"
#include <mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
static long unwound;

struct Unwind {
    ~Unwind()
    {
        std::lock_guard<std::mutex> hold(lock);
        unwound++;
    }
};

__attribute__((noinline)) static int dive(int depth)
{
    Unwind guard;
    if (depth == 0)
        throw std::runtime_error("bottom");
    return dive(depth - 1) + 1;
}

static void thrower()
{
    for (int i = 0; i < 2000; i++) {
        try {
            dive(9);
            CHECK(!"no exception");
        } catch (const std::runtime_error &error) {
            CHECK(std::string(error.what()) == "bottom");
        }
    }
}

int main()
{
    std::thread other(thrower);
    thrower();
    other.join();
    CHECK(unwound == 2 * 2000 * 10);
    std::puts("ok");
}
