// Reads, writes and updates of every size, of single variables, members and elements.
#include "same.h"

signed char a1;
short a2;
int a4;
long a8;
__int128 a16;
float f4;
double f8;
int *pointer = &a4;
struct { char c; int i; double d; } record;
int numbers[16];
_Bool flag;

static void write_all(void)
{
    a1 = 1;
    BETWEEN();
    a2 = 2;
    BETWEEN();
    a4 = 4;
    BETWEEN();
    a8 = 8;
    BETWEEN();
    a16 = 16;
    BETWEEN();
    f4 = 0.5f;
    BETWEEN();
    f8 = 0.25;
    BETWEEN();
    flag = 1;
}

static long read_all(void)
{
    long sum = a1;
    BETWEEN();
    sum += a2;
    BETWEEN();
    sum += a4;
    BETWEEN();
    sum += a8;
    BETWEEN();
    sum += (long)a16;
    BETWEEN();
    sum += (long)f4;
    BETWEEN();
    sum += (long)f8;
    BETWEEN();
    return sum + flag;
}

static void update_all(void)
{
    a1++;
    BETWEEN();
    a2 *= 3;
    BETWEEN();
    a4 -= 4;
    BETWEEN();
    a8 <<= 1;
    BETWEEN();
    a16 += 5;
    BETWEEN();
    f4 += 1;
    BETWEEN();
    f8 *= 2;
    BETWEEN();
}

static void follow(void)
{
    *pointer = 7;
    BETWEEN();
    pointer = &numbers[3];
    BETWEEN();
    *pointer = 9;
    BETWEEN();
    pointer = &a4;
}

static void members(void)
{
    record.c = 'c';
    BETWEEN();
    record.i = 5;
    BETWEEN();
    record.d = record.i;
    BETWEEN();
    record.c++;
}

static void elements(int from, int to)
{
    for (int i = from; i < to; i++) {
        numbers[i] = i;
        BETWEEN();
    }
    for (int i = from + 1; i < to; i++) {
        int before = numbers[i - 1];
        BETWEEN();
        numbers[i] += before;
        BETWEEN();
    }
}

static void swap(int *left, int *right)
{
    int kept = *left;
    BETWEEN();
    int other = *right;
    BETWEEN();
    *left = other;
    BETWEEN();
    *right = kept;
}

static void *work(void *unused)
{
    write_all();
    if (read_all() == 0)
        return unused;
    update_all();
    follow();
    members();
    elements(0, 16);
    swap(&numbers[2], &numbers[5]);
    return unused;
}

int main(void)
{
    return run_twice(work);
}
