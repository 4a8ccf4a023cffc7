/* Matrix product: three nested loops over arrays, each thread its own rows. */
#include "timing.h"

enum { N = 320 };
static double a[N][N], b[N][N], c[N][N];
static int threads = 2;
static volatile double result;

static void *work(void *number) {
    for (int i = (int)(intptr_t)number; i < N; i += threads)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
    return NULL;
}

int main(int count, char **arguments) {
    if (count > 1)
        threads = atoi(arguments[1]);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            a[i][j] = i + j, b[i][j] = i - j;
    int status = measure(count, arguments, work);
    for (int i = 0; i < N; i++)
        result += c[i][i]; /* or nothing would have to be computed */
    return status;
}
