// A marked C++ scope ends with an exception too: what follows is no part of it.
// variants: plain instrumented clang
// finds: transfer strong after
#include "shared_value.h"
#include "avmon.h"
#include <stdexcept>

static void split()
{
    avmon::atomic_block guard("transfer");
    set(get() + 1);
}

static void fail()
{
    avmon::atomic_block guard("failing");
    set(1);
    throw std::runtime_error("out of the block");
}

static void *work(void *unused)
{
    try {
        fail();
    } catch (const std::runtime_error &) {
    }
    split();
    return unused;
}

static void *other(void *unused)
{
    sleep_ms(60);
    set(100);
    return unused;
}

int main()
{
    pthread_t a, b;
    OK(pthread_create(&a, nullptr, work, nullptr));
    OK(pthread_create(&b, nullptr, other, nullptr));
    OK(pthread_join(a, nullptr));
    OK(pthread_join(b, nullptr));
    std::puts("done");
}
