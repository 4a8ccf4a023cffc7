// Packed structures, whose members lie at any address.
#include "same.h"

struct __attribute__((packed)) {
    char first;
    short a2;
    int a4;
    long a8;
    double f8;
} packed;

static void write_all(void)
{
    packed.first = 1;
    BETWEEN();
    packed.a2 = 2;
    BETWEEN();
    packed.a4 = 4;
    BETWEEN();
    packed.a8 = 8;
    BETWEEN();
    packed.f8 = 16;
}

static void update_all(void)
{
    packed.a2++;
    BETWEEN();
    packed.a4++;
    BETWEEN();
    packed.a8++;
    BETWEEN();
    packed.f8 += 1;
}

static void *work(void *unused)
{
    write_all();
    update_all();
    return unused;
}

int main(void)
{
    return run_twice(work);
}
