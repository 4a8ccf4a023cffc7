// The C++ guard ends its block on every way out.
#include <avmon.h>

static int inside(int way) {
    avmon::atomic_block guard("a label");
    if (way == 1)
        return 1;
    if (way == 2)
        throw 2;
    return 0;
}

int main() {
    int sum = 0;
    for (int way = 0; way < 3; way++) {
        try {
            sum += inside(way);
        } catch (int thrown) {
            sum += thrown;
        }
    }
    return sum == 3 ? 0 : 1;
}
