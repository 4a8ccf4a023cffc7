// std::jthread: stop tokens, stop callbacks, waits that a stop request ends, joining by destruction.
#include "check.h"
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex lock;
static std::condition_variable_any changed;
static std::atomic<int> stopped{0};

static void waits(std::stop_token token)
{
    std::unique_lock<std::mutex> hold(lock);
    CHECK(!changed.wait(hold, token, [] { return false; }));
    stopped++;
}

int main()
{
    {
        std::jthread waiter(waits);
        std::jthread spinner([](std::stop_token token) {
            std::stop_callback callback(token, [] { stopped++; });
            while (!token.stop_requested())
                std::this_thread::yield();
            stopped++;
        });
        sleep_ms(10);
    }
    CHECK(stopped == 3);
    std::puts("ok");
}
