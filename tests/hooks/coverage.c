/* Everything that the compilers' coverage options call. Prints what came out. */
#include <stdio.h>

int weigh(unsigned kind, double weight, float scale, const int *table, unsigned long index) {
    switch (kind) {
    case 1:
        return weight < 2.5;
    case 20:
        return scale > 1.5f;
    case 300:
        return table[index % 3];
    default:
        return (int)(100 / (kind + 1));
    }
}

int main(int argc, char **argv) {
    (void)argv;
    static const int table[3] = {4, 5, 6};
    int (*volatile indirect)(unsigned, double, float, const int *, unsigned long) = weigh;
    for (unsigned kind = 0; kind < 301; kind += 1 + (kind >= 20) * 279)
        printf("%d\n", indirect(kind, argc, (float)argc, table, (unsigned long)argc + kind));
    return 0;
}
