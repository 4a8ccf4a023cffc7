// The culprit waits for a future that the block's thread fulfils.
#include "shared_value.h"
#include <future>
#include <thread>

static void update()
{
    int seen = get();
    set(seen + 1);
}

int main()
{
    std::promise<int> promise;
    std::future<int> future = promise.get_future();
    std::thread a([&] {
        sleep_ms(20);
        update();
        promise.set_value(1);
    });
    std::thread b([&] {
        future.get();
        set(100);
    });
    a.join();
    b.join();
    std::puts("done");
}
