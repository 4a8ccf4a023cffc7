// Two customers want the same seat.
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <thread>

class Seats {
public:
    bool taken(const std::string &seat)
    {
        std::lock_guard<std::mutex> hold(lock); /* culprit */
        return owners.count(seat) != 0;
    }

    void take(const std::string &seat, const std::string &owner)
    {
        std::lock_guard<std::mutex> hold(lock); /* culprit */
        owners[seat] = owner;
    }

    bool reserve(const std::string &seat, const std::string &owner)
    {
        if (taken(seat)) /* first */
            return false;
        // Another customer may take it here.
        take(seat, owner); /* second */
        return true;
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
