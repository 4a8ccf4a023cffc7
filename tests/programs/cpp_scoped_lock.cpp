// std::scoped_lock and std::lock try and back off until they have all their locks: that is how they work, and no finding.
#include "check.h"
#include <mutex>
#include <thread>

static std::mutex first, second;
static int left, right;

static void forwards()
{
    std::scoped_lock both(first, second);
    left++;
    right++;
}

static void backwards()
{
    std::unique_lock<std::mutex> a(second, std::defer_lock), b(first, std::defer_lock);
    std::lock(a, b);
    left++;
    right++;
}

int main()
{
    std::thread other([] {
        for (int i = 0; i < 2000; i++)
            backwards();
    });
    for (int i = 0; i < 2000; i++)
        forwards();
    other.join();
    CHECK(left == 4000 && right == 4000);
    std::puts("ok");
}
