// A web server's manager of resource stores: requests load stores by their key, an administrator shuts the manager down.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

enum { CAPACITY = 8, NO_STORE = -1 };

struct Entry {
    int key;
    int uses;
};

struct State {
    bool closed;
    int entries;
};

class ResourceStoreManager {
public:
    // Wrong: a manager that is shut down after the check gets an entry that nobody will ever remove.
    int load_resource_store(int key)
    {
        if (is_closed()) /* violation 1: first */
            return NO_STORE;
        return lookup_entry(key); /* violation 1: second */
    }

    // Right: another part of the interface, all of it in one block.
    void forget(int key)
    {
        std::lock_guard<std::mutex> hold(lock);
        int index = find(key);
        if (index == NO_STORE)
            return;
        entry_count--;
        entries[index] = entries[entry_count];
    }

    void shutdown()
    {
        std::lock_guard<std::mutex> hold(lock);
        entry_count = 0; /* violation 1: other */
        closed = true;
    }

    State state()
    {
        std::lock_guard<std::mutex> hold(lock);
        return State{closed, entry_count};
    }

private:
    bool is_closed()
    {
        std::lock_guard<std::mutex> hold(lock);
        return closed;
    }

    // The place of the entry; makes one for a new key.
    int lookup_entry(int key)
    {
        std::lock_guard<std::mutex> hold(lock);
        int index = find(key);
        if (index == NO_STORE) {
            index = entry_count++;
            entries[index] = Entry{key, 0};
        }
        entries[index].uses++;
        return index;
    }

    // With the lock held.
    int find(int key) const
    {
        for (int i = 0; i < entry_count; i++)
            if (entries[i].key == key)
                return i;
        return NO_STORE;
    }

    std::mutex lock;
    bool closed = false;
    Entry entries[CAPACITY] = {};
    int entry_count = 0;
};

static ResourceStoreManager manager;

static void answer_requests(int first_key, int *answered)
{
    for (int key = first_key; key < first_key + 3; key++)
        *answered += manager.load_resource_store(key) != NO_STORE;
    manager.forget(first_key);
}

static void administrate()
{
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    manager.shutdown();
}

int main()
{
    int answered[2] = {};
    std::thread first(answer_requests, 1, &answered[0]), second(answer_requests, 2, &answered[1]);
    std::thread administrator(administrate);
    first.join();
    second.join();
    administrator.join();
    State state = manager.state();
    std::printf("answered %d, closed %d, entries %d\n", answered[0] + answered[1], state.closed, state.entries);
}
