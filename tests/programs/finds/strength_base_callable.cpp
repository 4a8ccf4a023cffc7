// Two acquires in the callable of a std::thread: the base of that thread, below the library's frames, hence weak.
// finds: Worker::operator base
#include "../check.h"
#include <mutex>
#include <thread>

static std::mutex lock;
static int value;

static int get()
{
    std::lock_guard<std::mutex> hold(lock);
    return value;
}

static void set(int next)
{
    std::lock_guard<std::mutex> hold(lock);
    value = next;
}

struct Worker {
    void operator()()
    {
        int seen = get(); /* first */
        set(seen + 1); /* second */
    }
};

struct Other {
    void operator()()
    {
        sleep_ms(60);
        set(9);
    }
};

int main()
{
    std::thread a{Worker()}, b{Other()};
    a.join();
    b.join();
    std::puts("done");
}
