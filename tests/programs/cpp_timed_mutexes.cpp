// std::timed_mutex, recursive_timed_mutex, shared_timed_mutex, shared_mutex: try, time-outs, modes.
#include "check.h"
#include <chrono>
#include <mutex>
#include <shared_mutex>
#include <thread>
using namespace std::chrono_literals;

static std::timed_mutex timed;
static std::recursive_timed_mutex recursive;
static std::shared_timed_mutex shared_timed;
static std::shared_mutex shared;

static void against_writers()
{
    CHECK(!timed.try_lock_for(5ms));
    CHECK(!timed.try_lock_until(std::chrono::system_clock::now() + 5ms));
    CHECK(!timed.try_lock());
    CHECK(!recursive.try_lock_for(5ms));
    CHECK(!shared_timed.try_lock_shared_for(5ms));
    CHECK(!shared_timed.try_lock_until(std::chrono::steady_clock::now() + 5ms));
    CHECK(!shared.try_lock_shared());
}

static void against_readers()
{
    CHECK(shared_timed.try_lock_shared_for(50s));
    shared_timed.unlock_shared();
    CHECK(!shared_timed.try_lock_for(5ms));
    CHECK(shared.try_lock_shared());
    shared.unlock_shared();
    CHECK(!shared.try_lock());
}

int main()
{
    timed.lock();
    CHECK(recursive.try_lock_for(1ms) && recursive.try_lock());
    shared_timed.lock();
    shared.lock();
    std::thread(against_writers).join();
    timed.unlock();
    recursive.unlock();
    recursive.unlock();
    shared_timed.unlock();
    shared.unlock();

    shared_timed.lock_shared();
    shared.lock_shared();
    std::thread(against_readers).join();
    shared_timed.unlock_shared();
    shared.unlock_shared();
    std::puts("ok");
}
