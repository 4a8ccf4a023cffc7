// Variables of every size and alignment under one lock, each changed as a whole and read in parts.
// reads: 50000
#include "../stress.h"
#include <complex.h>

enum { TURNS = 200 };

static struct __attribute__((packed)) {
    char before;
    short s;
    int i;
    long l;
    double d;
    unsigned __int128 wide;
} packed;

static union {
    unsigned char bytes[16];
    unsigned short shorts[8];
    unsigned ints[4];
    unsigned long longs[2];
    unsigned __int128 whole;
} parts;

static struct {
    unsigned a : 3, b : 13, c : 16;
    float f;
    double complex z;
    _Bool flag;
} mixed;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void change(int by)
{
    packed.before++;
    packed.s += (short)by;
    packed.i -= by;
    packed.l += (long)by << 33;
    packed.d += by;
    packed.wide += (unsigned __int128)by << 60;
    parts.whole = packed.wide * 3;
    mixed.a++;
    mixed.b += (unsigned)by & 0x1fff;
    mixed.c--;
    mixed.f += 0.5f;
    mixed.z += by + I;
    mixed.flag = !mixed.flag;
}

static void look(void)
{
    unsigned __int128 sum = 0;
    for (int i = 0; i < 16; i++)
        sum += (unsigned __int128)parts.bytes[i] << 8 * i;
    CHECK(sum == parts.whole && parts.whole == packed.wide * 3);
    sum = 0;
    for (int i = 0; i < 8; i++)
        sum += (unsigned __int128)parts.shorts[i] << 16 * i;
    CHECK(sum == parts.whole && parts.ints[1] == parts.longs[0] >> 32);
    CHECK((mixed.flag == 0) == (mixed.a % 2 == 0) && creal(mixed.z) == packed.d);
}

static void *work(void *number)
{
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&lock));
        change((int)(intptr_t)number + 1);
        OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_lock(&lock));
        look();
        OK(pthread_mutex_unlock(&lock));
    }
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    return 0;
}
