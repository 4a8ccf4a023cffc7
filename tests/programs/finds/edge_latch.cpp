// The culprit waits for a C++20 latch.
#include "shared_value.h"
#include <latch>
#include <thread>

static void update()
{
    int seen = get();
    set(seen + 1);
}

int main()
{
    std::latch latch(1);
    std::thread a([&] {
        sleep_ms(20);
        update();
        latch.count_down();
    });
    std::thread b([&] {
        latch.wait();
        set(100);
    });
    a.join();
    b.join();
    std::puts("done");
}
