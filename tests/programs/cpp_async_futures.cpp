// std::async, promises, packaged tasks, exceptions through futures.
#include "check.h"
#include <future>
#include <numeric>
#include <stdexcept>
#include <vector>

int main()
{
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 20; i++)
        futures.push_back(std::async(std::launch::async, [i] { return i * i; }));
    int sum = 0;
    for (auto &future : futures)
        sum += future.get();
    CHECK(sum == 2470);

    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("in the task"); });
    try {
        failing.get();
        CHECK(!"no exception");
    } catch (const std::runtime_error &error) {
        CHECK(std::string(error.what()) == "in the task");
    }

    std::promise<int> promise;
    std::thread giver([&] { promise.set_value(7); });
    CHECK(promise.get_future().get() == 7);
    giver.join();

    std::packaged_task<int(int)> task([](int x) { return x + 1; });
    auto result = task.get_future();
    std::thread runner(std::move(task), 41);
    CHECK(result.get() == 42);
    runner.join();

    auto lazy = std::async(std::launch::deferred, [] { return 3; });
    CHECK(lazy.wait_for(std::chrono::seconds(0)) == std::future_status::deferred && lazy.get() == 3);
    std::puts("ok");
}
