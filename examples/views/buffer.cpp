// Workers take values from a buffer, work on them, and put the results into another.
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

enum { VALUES = 8, WORKERS = 2, DONE = -1 };

class Buffer {
public:
    void put(int value)
    {
        std::lock_guard<std::mutex> hold(lock);
        values[filled++] = value;
        changed.notify_one();
    }

    void close()
    {
        std::lock_guard<std::mutex> hold(lock);
        closed = true;
        changed.notify_all();
    }

    // Each value is given out once: who has it is the only one, and its copy cannot go stale.
    int next()
    {
        std::unique_lock<std::mutex> hold(lock);
        while (taken == filled && !closed)
            changed.wait(hold);
        return taken == filled ? DONE : values[taken++];
    }

private:
    std::mutex lock;
    std::condition_variable changed;
    int values[VALUES] = {};
    int filled = 0, taken = 0;
    bool closed = false;
};

class Results {
public:
    void add(int result)
    {
        std::lock_guard<std::mutex> hold(lock);
        sum += result;
        count++;
    }

    void print()
    {
        std::lock_guard<std::mutex> hold(lock);
        std::printf("%d results, sum %d\n", count, sum);
    }

private:
    std::mutex lock;
    int sum = 0, count = 0;
};

static Buffer buffer;
static Results results;

static int square(int value)
{
    return value * value;
}

// Right: the value that leaves the first block and enters the second belongs to this worker alone.
static void work()
{
    for (int value = buffer.next(); value != DONE; value = buffer.next()) {
        int result = square(value);
        results.add(result);
    }
}

static void produce()
{
    for (int value = 1; value <= VALUES; value++)
        buffer.put(value);
    buffer.close();
}

int main()
{
    std::thread producer(produce), workers[WORKERS];
    for (std::thread &worker : workers)
        worker = std::thread(work);
    producer.join();
    for (std::thread &worker : workers)
        worker.join();
    results.print();
}
