// A store: customers look at offers and order, clerks take orders and sell, a supplier fills the shelves, a manager changes offers, an
// accountant looks at the till.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

enum { PRODUCTS = 3, FULL = 20, CUSTOMERS = 2, CLERKS = 2, ORDERS_EACH = 6, CAPACITY = 16, ROUNDS = 3 };

static void pause_for(int tenths_of_ms)
{
    std::this_thread::sleep_for(std::chrono::microseconds(100 * tenths_of_ms));
}

struct Offer {
    int price, discount;

    int to_pay() const { return price - discount; }
};

struct Order {
    int product;
    int count;
    int limit; // the customer pays no more for a piece
};

// What came in, and for how many sales. The two always belong together.
class Till {
public:
    void book(int amount)
    {
        std::lock_guard<std::mutex> hold(lock);
        cash += amount;
        sales++;
    }

    int average()
    {
        std::lock_guard<std::mutex> hold(lock);
        return sales == 0 ? 0 : cash / sales;
    }

    void print()
    {
        std::lock_guard<std::mutex> hold(lock);
        std::printf("%d sales, money in the till: %d\n", sales, cash > 0);
    }

private:
    std::mutex lock;
    int cash = 0;
    int sales = 0;
};

// A product on its shelf, with what it costs.
class Shelf {
public:
    void open(int pieces, int price_of_one)
    {
        std::lock_guard<std::mutex> hold(lock);
        stock = pieces;
        price = price_of_one;
        discount = 0;
    }

    Offer offer()
    {
        std::lock_guard<std::mutex> hold(lock);
        return Offer{price, discount}; /* violation 1: other */
    }

    // Right: everything is looked at anew, and the till is served before the shelf is free again.
    bool sell(int count, int limit, Till &till)
    {
        std::lock_guard<std::mutex> hold(lock);
        int each = price - discount;
        if (stock < count || each > limit)
            return false;
        stock -= count;
        till.book(count * each);
        return true;
    }

    // Right: more pieces, however many there are.
    void add(int count)
    {
        std::lock_guard<std::mutex> hold(lock);
        stock += count; /* violation 2: other */
    }

    // Wrong: customers may see the new price with the old discount.
    void change_offer(const Offer &to)
    {
        set_price(to.price);       /* violation 1: first */
        set_discount(to.discount); /* violation 1: second */
    }

    // Wrong: what comes back after the count makes the shelf too full.
    void fill()
    {
        int missing = count_missing(); /* violation 2: first */
        add(missing);                  /* violation 2: second */
    }

    bool is_in_order()
    {
        std::lock_guard<std::mutex> hold(lock);
        return stock >= 0 && price > 0 && discount >= 0;
    }

private:
    void set_price(int to)
    {
        std::lock_guard<std::mutex> hold(lock);
        price = to;
    }

    void set_discount(int to)
    {
        std::lock_guard<std::mutex> hold(lock);
        discount = to;
    }

    int count_missing()
    {
        std::lock_guard<std::mutex> hold(lock);
        return FULL - stock;
    }

    std::mutex lock;
    int stock = 0;
    int price = 0, discount = 0;
};

// Orders wait here until a clerk has time.
class Counter {
public:
    void put(const Order &order)
    {
        std::unique_lock<std::mutex> hold(lock);
        while (waiting == CAPACITY && !closed)
            changed.wait(hold);
        orders[(first + waiting) % CAPACITY] = order;
        waiting++;
        changed.notify_all();
    }

    // Each order goes to one clerk.
    bool take(Order *order)
    {
        std::unique_lock<std::mutex> hold(lock);
        while (waiting == 0 && !closed)
            changed.wait(hold);
        if (waiting == 0)
            return false;
        *order = orders[first];
        first = (first + 1) % CAPACITY;
        waiting--;
        changed.notify_all();
        return true;
    }

    void close()
    {
        std::lock_guard<std::mutex> hold(lock);
        closed = true;
        changed.notify_all();
    }

private:
    std::mutex lock;
    std::condition_variable changed;
    Order orders[CAPACITY] = {};
    int first = 0, waiting = 0;
    bool closed = false;
};

class Store {
public:
    Store()
    {
        for (int i = 0; i < PRODUCTS; i++)
            shelves[i].open(FULL / 2, 10 + i);
    }

    Shelf &shelf(int product) { return shelves[product]; }

    Counter counter;
    Till till;

private:
    Shelf shelves[PRODUCTS];
};

static Store store;

struct Customer {
    int number;
    int seen = 0;

    // Looks at all offers, then orders what is needed whatever it costs, up to a limit.
    void shop()
    {
        for (int i = 0; i < ORDERS_EACH; i++) {
            int product = (number + i) % PRODUCTS;
            seen += store.shelf(product).offer().to_pay();
            store.counter.put(Order{product, 1 + i % 2, 50});
            pause_for(1);
        }
    }
};

struct Clerk {
    int sold = 0, refused = 0;

    // Right: the order was taken away from the counter, no one else has it.
    void serve()
    {
        Order order;
        while (store.counter.take(&order)) {
            if (store.shelf(order.product).sell(order.count, order.limit, store.till))
                sold++;
            else
                refused++;
        }
    }
};

// Some of what was sold comes back.
static void returns()
{
    for (int round = 0; round < ROUNDS; round++) {
        pause_for(2);
        store.shelf(round % PRODUCTS).add(1);
    }
}

static void supply()
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int product = 0; product < PRODUCTS; product++)
            store.shelf(product).fill();
        pause_for(3);
    }
}

static void manage()
{
    pause_for(10);
    for (int product = 0; product < PRODUCTS; product++)
        store.shelf(product).change_offer(Offer{20 + product, 5});
}

static void account(int *highest)
{
    for (int round = 0; round < ROUNDS; round++) {
        int average = store.till.average();
        if (average > *highest)
            *highest = average;
        pause_for(3);
    }
}

int main()
{
    Customer customers[CUSTOMERS];
    Clerk clerks[CLERKS];
    std::thread shoppers[CUSTOMERS], servers[CLERKS];
    int highest = 0;
    std::thread supplier(supply), goods_in(returns), manager(manage), accountant(account, &highest);
    for (int i = 0; i < CLERKS; i++)
        servers[i] = std::thread(&Clerk::serve, &clerks[i]);
    for (int i = 0; i < CUSTOMERS; i++) {
        customers[i].number = i;
        shoppers[i] = std::thread(&Customer::shop, &customers[i]);
    }
    int seen = 0;
    for (int i = 0; i < CUSTOMERS; i++) {
        shoppers[i].join();
        seen += customers[i].seen;
    }
    supplier.join();
    goods_in.join();
    manager.join();
    accountant.join();
    store.counter.close();
    int served = 0;
    for (int i = 0; i < CLERKS; i++) {
        servers[i].join();
        served += clerks[i].sold + clerks[i].refused;
    }
    bool in_order = true;
    for (int i = 0; i < PRODUCTS; i++)
        in_order = in_order && store.shelf(i).is_in_order();
    std::printf("%d orders served, in order: %d, offers were seen: %d, average in range: %d\n", served, in_order, seen > 0, highest < 100);
    store.till.print();
}
