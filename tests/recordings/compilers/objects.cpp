// Objects with virtual functions, in a hierarchy, made and deleted.
#include "same.h"

struct Base {
    virtual ~Base();
    virtual int value();
    int number = 1;
};

struct Derived : Base {
    ~Derived() override;
    int value() override;
    int more = 2;
};

int result;
Base *object;

Base::~Base()
{
    number = 0;
    // An object that ends need not be written to; unless somebody may look.
    BETWEEN();
}

int Base::value() { return number; }

Derived::~Derived()
{
    more = 0;
    BETWEEN();
}

int Derived::value() { return more; }

static void make(bool derived)
{
    if (derived)
        object = new Derived;
    else
        object = new Base;
}

static void call()
{
    Base *here = object;
    BETWEEN();
    result = here->value();
}

static void destroy()
{
    Base *here = object;
    BETWEEN();
    delete here;
}

static void *work(void *unused)
{
    for (int i = 0; i < 2; i++) {
        make(i == 1);
        call();
        destroy();
    }
    return unused;
}

int main() { return run_twice(work); }
