// Text buffers, each with its own lock; one is appended to another while a third party shortens it.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

enum { CAPACITY = 64 };

class StringBuffer {
public:
    explicit StringBuffer(const char *text) { append(text, static_cast<int>(std::strlen(text))); }

    int length()
    {
        std::lock_guard<std::mutex> hold(lock);
        return count;
    }

    void set_length(int length)
    {
        std::lock_guard<std::mutex> hold(lock);
        for (int i = count; i < length; i++)
            value[i] = ' ';
        count = length;
    }

    // Only for who knows that there are so many.
    void get_chars(int wanted, char *to)
    {
        std::lock_guard<std::mutex> hold(lock);
        if (wanted > count)
            out_of_bounds++;
        for (int i = 0; i < wanted; i++)
            to[i] = value[i];
    }

    void append(const char *text, int length)
    {
        std::lock_guard<std::mutex> hold(lock);
        for (int i = 0; i < length; i++)
            value[count + i] = text[i];
        count += length;
    }

    // Not atomic: this buffer is locked throughout, the other one is not.
    void append(StringBuffer &other)
    {
        std::lock_guard<std::mutex> hold(lock);
        int more = other.length();            /* violation 1: first */
        other.get_chars(more, &value[count]); /* violation 1: second */
        count += more;
    }

    void print()
    {
        std::lock_guard<std::mutex> hold(lock);
        std::printf("'%.*s', %d out of bounds\n", count, value, out_of_bounds);
    }

private:
    std::mutex lock;
    char value[CAPACITY] = {};
    int count = 0;
    int out_of_bounds = 0;
};

static StringBuffer greeting("hello "), name("world");

enum { TURNS = 2 };

static void pause_for(int ms)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static void greet()
{
    for (int i = 0; i < TURNS; i++) {
        greeting.append(name);
        pause_for(2);
    }
}

static void shorten()
{
    pause_for(1);
    for (int i = 0; i < TURNS; i++) {
        name.set_length(2 - i); /* violation 1: other */
        pause_for(2);
    }
}

int main()
{
    std::thread greeter(greet), shortener(shorten);
    greeter.join();
    shortener.join();
    greeting.print();
    name.print();
}
