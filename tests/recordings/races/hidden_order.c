// Two threads that take turns by means that no hook sees: in the recorded order the reader reads before the writer writes.
#include "../stress.h"

// Not static: of a static variable compilers believe to know who changes it.
long shared;
int turn;

// By instructions of the machine, which the compilers do not instrument.
static void wait_for_turn(int wanted)
{
    int seen;
    do {
        __asm__ volatile("pause\n\tmovl %1, %0" : "=r"(seen) : "m"(turn) : "memory");
    } while (seen != wanted);
}

static void give_turn(int next)
{
    __asm__ volatile("movl %1, %0" : "=m"(turn) : "r"(next) : "memory");
}

static void *first(void *number)
{
    shared = 1;
    give_turn(1);
    wait_for_turn(2);
    CHECK(shared == 2);
    return number;
}

static void *second(void *number)
{
    wait_for_turn(1);
    CHECK(shared == 1);
    shared = 2;
    give_turn(2);
    return number;
}

static void *work(void *number)
{
    return (intptr_t)number == 0 ? first(number) : second(number);
}

static void *nothing(void *number)
{
    return number;
}

int main(void)
{
    // A recording begins with the first thread. From here on the value is known, whichever of the two comes first in its order.
    run_threads(1, nothing);
    shared = 0;
    run_threads(2, work);
    return 0;
}
