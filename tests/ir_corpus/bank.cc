// What the reader must understand of C++.
#include <pthread.h>

namespace bank {

class Lock {
    pthread_mutex_t mutex;

public:
    Lock() { pthread_mutex_init(&mutex, nullptr); }
    void take() { pthread_mutex_lock(&mutex); }
    void give() { pthread_mutex_unlock(&mutex); }
};

class Guard {
    Lock &lock;

public:
    explicit Guard(Lock &lock) : lock(lock) { lock.take(); }
    ~Guard() { lock.give(); }
};

struct Empty {};

struct Base {
    int id = 0;
    bool used = false;
    virtual int worth() { return id; }
    virtual ~Base() {}
};

struct Account : Empty, Base {
    char kind = 'a';
    long balance = 0;
    static int count;
    int worth() override;
};

template <typename T> struct Pair {
    T first, second;
    T sum() const { return first + second; }
};

int Account::count;
static Lock lock;

int Account::worth() {
    Guard guard(lock);
    count++;
    return static_cast<int>(balance) + id;
}

namespace {
struct Hidden {
    Pair<int> small;
    Pair<long> large;
} hidden;
} // namespace

long total(Base *base, int limit) {
    Guard guard(lock);
    if (base->worth() > limit) throw limit;
    auto next = [&](int by) { return hidden.small.sum() + by; };
    hidden.large.second = next(limit);
    return hidden.large.sum();
}

} // namespace bank

int main() {
    static bank::Account *account = new bank::Account;
    try {
        return bank::total(account, 3) != 0;
    } catch (int limit) {
        account->balance = limit;
        return limit;
    }
}
