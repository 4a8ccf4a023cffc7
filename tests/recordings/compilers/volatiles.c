// Volatile variables of every size.
#include "same.h"

volatile signed char v1;
volatile short v2;
volatile int v4;
volatile long v8;
volatile double f8;
int plain;

static void write_all(void)
{
    v1 = 1;
    v2 = 2;
    v4 = 4;
    v8 = 8;
    f8 = 16;
}

static void read_all(void)
{
    plain = v1;
    BETWEEN();
    plain = v2;
    BETWEEN();
    plain = v4;
    BETWEEN();
    plain = (int)v8;
    BETWEEN();
    plain = (int)f8;
}

static void update_all(void)
{
    v1++;
    v2 += 2;
    v4 = v4 + 1;
    v8 <<= 2;
}

static void *work(void *unused)
{
    write_all();
    read_all();
    update_all();
    return unused;
}

int main(void)
{
    return run_twice(work);
}
