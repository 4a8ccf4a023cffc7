// A function called by a lambda that is a thread's base is no base itself.
// finds: Account::withdraw strong after
#include "../check.h"
#include <mutex>
#include <thread>

class Account {
public:
    bool withdraw(int amount)
    {
        if (balance() < amount) /* first */
            return false;
        add(-amount); /* second */
        return true;
    }

    int balance()
    {
        std::lock_guard<std::mutex> hold(lock);
        return money;
    }

    void add(int amount)
    {
        std::lock_guard<std::mutex> hold(lock);
        money += amount;
    }

private:
    std::mutex lock;
    int money = 100;
};

int main()
{
    Account account;
    std::thread a([&] { account.withdraw(60); });
    std::thread b([&] {
        sleep_ms(60);
        account.add(1);
    });
    a.join();
    b.join();
    std::printf("%d\n", account.balance());
}
