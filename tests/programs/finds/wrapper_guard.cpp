// Two culprits take the lock through the same guard: each is a finding, and is named by its own line.
// finds: Account::withdraw strong after
// culprit: Account::deposit
// finds: Account::withdraw strong after
// culprit: Account::charge
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

    void deposit(int amount)
    {
        std::lock_guard<std::mutex> hold(lock); /* culprit */
        money += amount;
    }

    void charge(int fee)
    {
        std::lock_guard<std::mutex> hold(lock); /* culprit */
        money -= fee;
    }

    int balance()
    {
        std::lock_guard<std::mutex> hold(lock);
        return money;
    }

private:
    void add(int amount)
    {
        std::lock_guard<std::mutex> hold(lock);
        money += amount;
    }

    std::mutex lock;
    int money = 100;
};

int main()
{
    Account account;
    std::thread a([&] { account.withdraw(60); });
    std::thread b([&] {
        sleep_ms(60);
        account.deposit(5);
    });
    std::thread c([&] {
        sleep_ms(120);
        account.charge(1);
    });
    a.join();
    b.join();
    c.join();
    std::printf("%d\n", account.balance());
}
