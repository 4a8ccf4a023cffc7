// std::condition_variable and _any: wait with predicate, wait_for, wait_until, time-outs, notify_all_at_thread_exit.
#include "check.h"
#include <chrono>
#include <condition_variable>
#include <shared_mutex>
#include <thread>
using namespace std::chrono_literals;

static std::mutex lock;
static std::condition_variable changed;
static std::condition_variable_any any;
static std::shared_mutex shared;
static bool go;

static void set(bool value)
{
    std::lock_guard<std::mutex> hold(lock);
    go = value;
    changed.notify_all();
}

static void time_out()
{
    std::unique_lock<std::mutex> hold(lock);
    CHECK(changed.wait_for(hold, 5ms) == std::cv_status::timeout || hold.owns_lock());
    CHECK(!changed.wait_for(hold, 5ms, [] { return false; }));
    CHECK(!changed.wait_until(hold, std::chrono::steady_clock::now() + 5ms, [] { return false; }));
    CHECK(!changed.wait_until(hold, std::chrono::system_clock::now() + 5ms, [] { return false; }));
}

static void await()
{
    std::unique_lock<std::mutex> hold(lock);
    CHECK(changed.wait_for(hold, 50s, [] { return go; }));
}

static void await_shared()
{
    std::shared_lock<std::shared_mutex> hold(shared);
    CHECK(any.wait_for(hold, 50s, [] { return go; }));
}

static void at_exit()
{
    std::unique_lock<std::mutex> hold(lock);
    go = true;
    std::notify_all_at_thread_exit(changed, std::move(hold));
}

int main()
{
    time_out();
    std::thread a(await), b(await);
    set(true);
    a.join();
    b.join();
    set(false);
    std::thread c(await), d(at_exit);
    c.join();
    d.join();
    set(false);
    std::thread e(await_shared);
    {
        std::unique_lock<std::shared_mutex> hold(shared);
        go = true;
    }
    any.notify_all();
    e.join();
    std::puts("ok");
}
