// The library of C++: threads, locks of both kinds, conditions, atomics, texts, containers, and objects with virtual functions.
// flags: -D_GLIBCXX_EXTERN_TEMPLATE=0
// reads: 4000
#include "../stress.h"
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Shape {
    explicit Shape(int size) : size(size) {}
    virtual ~Shape() { size = 0; }
    virtual long area() const = 0;
    int size;
};

struct Square final : Shape {
    using Shape::Shape;
    long area() const override { return long(size) * size; }
};

struct Triangle final : Shape {
    using Shape::Shape;
    long area() const override { return long(size) * size / 2; }
};

class Shapes {
public:
    void put(std::unique_ptr<Shape> shape)
    {
        std::lock_guard hold(mutex);
        shapes.push_back(std::move(shape));
        changed.notify_one();
    }

    std::unique_ptr<Shape> take()
    {
        std::unique_lock hold(mutex);
        changed.wait(hold, [this] { return !shapes.empty(); });
        auto shape = std::move(shapes.front());
        shapes.pop_front();
        return shape;
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::unique_ptr<Shape>> shapes;
};

class Names {
public:
    void set(unsigned key, const std::string &name)
    {
        std::unique_lock hold(mutex);
        if (names.size() <= key)
            names.resize(key + 1);
        names[key] = name;
    }

    std::string get(unsigned key) const
    {
        std::shared_lock hold(mutex);
        return key < names.size() ? names[key] : std::string();
    }

private:
    mutable std::shared_mutex mutex;
    std::vector<std::string> names;
};

Shapes shapes;
Names names;
std::atomic<long> area{0};
constexpr int turns = 60;

void produce(int self)
{
    for (int i = 0; i < turns; i++) {
        if (i % 2)
            shapes.put(std::make_unique<Square>(i));
        else
            shapes.put(std::make_unique<Triangle>(i));
        names.set(i % 7, std::string(1 + (i + self) % 30, char('a' + self)));
    }
}

void consume()
{
    for (int i = 0; i < turns; i++) {
        area += shapes.take()->area();
        const std::string name = names.get(i % 7);
        for (char letter : name)
            CHECK(letter == name.front());
    }
}

}

int main()
{
    // Never deleted: the library, which is not instrumented, writes into a thread that it starts or joins.
    auto &threads = *new std::vector<std::thread>;
    for (int i = 0; i < 3; i++) {
        threads.push_back(std::thread(produce, i));
        threads.push_back(std::thread(consume));
    }
    for (auto &thread : threads)
        thread.join();
    long expected = 0;
    for (int i = 0; i < turns; i++)
        expected += i % 2 ? long(i) * i : long(i) * i / 2;
    CHECK(area.load() == 3 * expected);
    return 0;
}
