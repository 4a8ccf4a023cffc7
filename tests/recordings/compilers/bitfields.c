// Bit fields: a write to one is a read and a write of what holds it.
#include "same.h"

struct { unsigned a : 8, b : 8, c : 16; } bits;
int result;

static void write_bits(unsigned value)
{
    bits.a = value;
    BETWEEN();
    bits.c = value;
    BETWEEN();
}

static void read_bits(void)
{
    result = (int)bits.b;
    BETWEEN();
    result = (int)bits.c;
}

static void *work(void *unused)
{
    write_bits(5);
    read_bits();
    return unused;
}

int main(void)
{
    return run_twice(work);
}
