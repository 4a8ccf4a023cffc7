// An exception that leaves a thread's function: std::terminate, hence SIGABRT.
// exit: SIGABRT
#include "check.h"
#include <exception>
#include <stdexcept>
#include <thread>

int main()
{
    std::set_terminate([] {
        CHECK(write(1, "terminate\n", 10) == 10);
        abort();
    });
    std::thread thread([] { throw std::runtime_error("nobody catches this"); });
    thread.join();
}
