// Bank accounts: two tellers book on them.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

class Account {
public:
    explicit Account(int opening) : balance(opening) {}

    int read()
    {
        std::lock_guard<std::mutex> hold(lock);
        return balance;
    }

    void write(int amount)
    {
        std::lock_guard<std::mutex> hold(lock);
        balance = amount;
    }

    // Right: all in one block.
    void deposit(int amount)
    {
        std::lock_guard<std::mutex> hold(lock);
        balance += amount;
    }

    // Wrong: what the other teller books after the read is overwritten.
    void update(int amount)
    {
        int current = read();    /* violation 1: first */
        write(current + amount); /* violation 1: second */
    }

private:
    std::mutex lock;
    int balance;
};

static Account account(100);

static void wages()
{
    account.deposit(50); /* violation 1: other */
    account.update(20);  /* violation 1: other */
}

static void charges()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    account.update(-10); /* violation 1: other */
    account.deposit(-5); /* violation 1: other */
}

int main()
{
    std::thread first(wages), second(charges);
    first.join();
    second.join();
    std::printf("balance %d\n", account.read());
}
