// Helpers take work from a queue if there is some.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

class WorkQueue {
public:
    void push_all(const std::vector<int> &work)
    {
        std::unique_lock<std::mutex> hold(lock);
        items.insert(items.end(), work.begin(), work.end());
        filled.notify_all();
    }

    // Waits until there is something.
    int pop()
    {
        std::unique_lock<std::mutex> hold(lock);
        filled.wait(hold, [this] { return !items.empty(); });
        int item = items.front();
        items.pop_front();
        return item;
    }

    // Must not wait: the helper has other things to do.
    bool take_if_any(int *item)
    {
        std::unique_lock<std::mutex> hold(lock);
        if (items.empty())
            return false;
        *item = items.front();
        items.pop_front();
        return true;
    }

private:
    std::mutex lock;
    std::condition_variable filled;
    std::deque<int> items;
};

static WorkQueue queue;

static void consumer(int *result)
{
    *result = queue.pop();
}

static void helper(int delay_ms, int *result)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    queue.take_if_any(result);
}

int main()
{
    int taken = 0, helped_first = 0, helped_second = 0;
    std::thread worker(consumer, &taken);
    queue.push_all({3, 4});
    worker.join();
    std::thread first(helper, 0, &helped_first), second(helper, 20, &helped_second);
    first.join();
    second.join();
    std::printf("consumer took %d, helpers took %d\n", taken, helped_first + helped_second);
}
