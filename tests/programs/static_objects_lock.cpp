// Static objects whose constructors and destructors lock, and one that starts a thread before main and joins it after.
#include "check.h"
#include <atomic>
#include <mutex>
#include <thread>

static std::mutex &lock()
{
    static std::mutex mutex;
    return mutex;
}

struct Speaker {
    const char *name;
    explicit Speaker(const char *n) : name(n) { say("constructed"); }
    ~Speaker() { say("destroyed"); }
    void say(const char *what)
    {
        std::lock_guard<std::mutex> hold(lock());
        std::printf("%s %s\n", name, what);
        std::fflush(stdout);
    }
};

struct Background {
    std::atomic<bool> stop{false};
    std::thread thread{[this] {
        while (!stop)
            std::this_thread::yield();
    }};
    ~Background()
    {
        stop = true;
        thread.join();
        std::puts("background joined");
    }
};

static Speaker early("early");
static Background background;
static Speaker late("late");

int main()
{
    std::puts("main");
}
