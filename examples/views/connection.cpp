// A client sends messages over a connection that an operator may close at any time.
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

enum { NONE, FIRST_WIRE, SECOND_WIRE, WIRES };

struct Status {
    int socket, counter;
};

class Connection {
public:
    void connect(int to)
    {
        std::lock_guard<std::mutex> hold(lock);
        socket = to;
        counter = 0;
    }

    bool is_connected()
    {
        std::lock_guard<std::mutex> hold(lock);
        return socket != NONE;
    }

    // Only for who is connected: what goes to the wire NONE is lost.
    void send(int length)
    {
        std::lock_guard<std::mutex> hold(lock);
        wire[socket] += length;
        counter++;
    }

    Status status()
    {
        std::lock_guard<std::mutex> hold(lock);
        return Status{socket, counter};
    }

    // Not atomic: the operator may disconnect after the look.
    bool try_send(int length)
    {
        if (!is_connected()) /* violation 1: first */
            return false;
        send(length); /* violation 1: second */
        return true;
    }

    // Not atomic: no socket, but still a count of what it sent.
    void disconnect()
    {
        close(); /* violation 1: other */ /* violation 2: first */
        reset(); /* violation 2: second */
    }

    int sent_over(int socket)
    {
        std::lock_guard<std::mutex> hold(lock);
        return wire[socket];
    }

private:
    void close()
    {
        std::lock_guard<std::mutex> hold(lock);
        socket = NONE;
    }

    void reset()
    {
        std::lock_guard<std::mutex> hold(lock);
        counter = 0;
    }

    std::mutex lock;
    int socket = NONE;
    int counter = 0;
    int wire[WIRES] = {};
};

static Connection connection;

static void pause_for(int ms)
{
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

static void client()
{
    for (int length = 1; length <= 3; length++) {
        connection.try_send(length);
        pause_for(2);
    }
}

static void watch(int *torn)
{
    for (int i = 0; i < 3; i++) {
        Status now = connection.status(); /* violation 2: other */
        *torn += now.socket == NONE && now.counter != 0;
        pause_for(2);
    }
}

static void operate()
{
    pause_for(1);
    connection.disconnect();
    pause_for(2);
    connection.connect(SECOND_WIRE);
}

int main()
{
    int torn = 0;
    connection.connect(FIRST_WIRE);
    std::thread sender(client), watcher(watch, &torn), operation(operate);
    sender.join();
    watcher.join();
    operation.join();
    int sent = connection.sent_over(FIRST_WIRE) + connection.sent_over(SECOND_WIRE);
    std::printf("sent some: %d, lost %d, torn %d\n", sent > 0, connection.sent_over(NONE), torn);
}
