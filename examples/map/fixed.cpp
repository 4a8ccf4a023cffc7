// Two customers want the same seat.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

class Seats {
public:
    bool reserve(const std::string &seat, const std::string &owner)
    {
        std::lock_guard<std::mutex> hold(lock);
        return owners.emplace(seat, owner).second;
    }

private:
    std::mutex lock;
    std::map<std::string, std::string> owners;
};

static Seats seats;

static void customer(const char *name, int delay_ms, bool *accepted)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    *accepted = seats.reserve("12A", name);
}

int main()
{
    bool first_accepted = false, second_accepted = false;
    std::thread first(customer, "Ada", 0, &first_accepted);
    std::thread second(customer, "Bob", 20, &second_accepted);
    first.join();
    second.join();
    std::printf("seat 12A was sold %d time(s)\n", first_accepted + second_accepted);
}
