// A function that is left by an exception is over.
// finds: worker base
#include "shared_value.h"
#include <stdexcept>

static void fail()
{
    set(1);
    throw std::runtime_error("out");
}

static void *worker(void *unused)
{
    try {
        fail();
    } catch (const std::runtime_error &) {
    }
    set(get() + 1);
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    set(9);
    return unused;
}

int main()
{
    pthread_t a, b;
    OK(pthread_create(&a, nullptr, worker, nullptr));
    OK(pthread_create(&b, nullptr, other, nullptr));
    OK(pthread_join(a, nullptr));
    OK(pthread_join(b, nullptr));
    std::puts("done");
}
