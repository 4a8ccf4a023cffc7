// Virtual calls, exceptions, static initialisation, threads and atomics of C++. Prints what came out.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Shape {
    virtual ~Shape() { std::printf("~%s\n", name().c_str()); }
    virtual std::string name() const { return "shape"; }
};
struct Circle : Shape {
    ~Circle() override { std::printf("~%s\n", name().c_str()); }
    std::string name() const override { return "circle"; }
};

struct Trace {
    explicit Trace(int depth) : depth(depth) {}
    ~Trace() { std::printf("leave %d\n", depth); }
    int depth;
};

int dive(int depth) {
    Trace trace(depth);
    if (depth == 5)
        throw std::runtime_error("bottom");
    return dive(depth + 1) + 1;
}

static std::map<std::string, int> &table() {
    static std::map<std::string, int> shared{{"one", 1}, {"two", 2}};
    return shared;
}

thread_local int own = 1;

int main() {
    std::unique_ptr<Shape> shape(new Circle);
    std::printf("%s\n", shape->name().c_str());
    shape.reset();
    try {
        dive(0);
    } catch (const std::exception &error) {
        std::printf("caught %s\n", error.what());
    }

    std::atomic<long> sum{0};
    std::atomic<bool> open{false};
    std::mutex mutex;
    std::condition_variable opened;
    std::vector<std::thread> threads;
    auto held = std::make_shared<int>(5);
    for (int i = 0; i < 4; i++) {
        threads.emplace_back([&, i, held] {
            std::unique_lock<std::mutex> lock(mutex);
            opened.wait(lock, [&] { return open.load(std::memory_order_acquire); });
            own += i;
            sum.fetch_add(own + *held + table()["two"]);
            try {
                dive(4);
            } catch (...) {
                sum++;
            }
        });
    }
    {
        std::lock_guard<std::mutex> lock(mutex);
        open.store(true, std::memory_order_release);
    }
    opened.notify_all();
    for (auto &thread : threads)
        thread.join();
    std::printf("sum %ld own %d held %ld\n", sum.load(), own, held.use_count());
    return 0;
}
