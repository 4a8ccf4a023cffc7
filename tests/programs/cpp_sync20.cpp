// C++20 semaphores, latches, barriers and atomic waiting: futexes without any pthreads call.
#include "check.h"
#include <atomic>
#include <barrier>
#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>
using namespace std::chrono_literals;

enum { THREADS = 4, ROUNDS = 50 };

int main()
{
    std::counting_semaphore<8> items(0);
    std::binary_semaphore room(1);
    int slot = 0, sum = 0, completions = 0;
    std::thread consumer([&] {
        for (int i = 0; i < 200; i++) {
            items.acquire();
            sum += slot;
            room.release();
        }
    });
    for (int i = 1; i <= 200; i++) {
        room.acquire();
        slot = i;
        items.release();
    }
    consumer.join();
    CHECK(sum == 20100 && !items.try_acquire() && !items.try_acquire_for(5ms));

    std::latch latch(THREADS);
    std::atomic<int> arrived{0};
    auto completed = [&]() noexcept { completions++; };
    std::barrier barrier(THREADS, completed);
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++)
        threads.emplace_back([&] {
            arrived++;
            latch.arrive_and_wait();
            CHECK(arrived == THREADS);
            for (int round = 0; round < ROUNDS; round++)
                barrier.arrive_and_wait();
        });
    for (auto &thread : threads)
        thread.join();
    CHECK(completions == ROUNDS);

    std::atomic<int> flag{0};
    std::thread waker([&] {
        flag = 1;
        flag.notify_all();
    });
    flag.wait(0);
    CHECK(flag == 1);
    waker.join();
    std::puts("ok");
}
