// Elements of a shared vector are added to others while somebody may remove some, like Vector.addAll.
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class SharedVector {
public:
    explicit SharedVector(std::vector<int> start) : items(std::move(start)) {}

    std::size_t size()
    {
        std::unique_lock<std::mutex> hold(lock);
        return items.size();
    }

    std::vector<int> snapshot()
    {
        std::unique_lock<std::mutex> hold(lock);
        return items;
    }

    void remove_last()
    {
        std::unique_lock<std::mutex> hold(lock);
        items.pop_back();
    }

    void add_all(SharedVector &other)
    {
        std::vector<int> copy = other.snapshot();
        std::unique_lock<std::mutex> hold(lock);
        items.insert(items.end(), copy.begin(), copy.end());
    }

private:
    std::mutex lock;
    std::vector<int> items;
};

static void add(SharedVector *to, SharedVector *from)
{
    to->add_all(*from);
}

static void remove_later(SharedVector *from)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    from->remove_last();
}

int main()
{
    SharedVector shared({1, 2, 3}), left({10}), right({20, 21});
    std::thread to_left(add, &left, &shared), to_right(add, &right, &shared), remover(remove_later, &shared);
    to_left.join();
    to_right.join();
    remover.join();
    // With the threads gone nobody shares the vectors any more: one more lock for each is only to look.
    std::printf("left %zu, right %zu, shared %zu\n", left.size(), right.size(), shared.size());
}
