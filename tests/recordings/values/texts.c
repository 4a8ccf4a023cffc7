// Texts and blocks that are filled, moved, copied and compared by the library's functions, byte by byte in between.
// reads: 50000
#include "../stress.h"

enum { TURNS = 120, SIZE = 64 };

struct record {
    char name[SIZE];
    unsigned char body[SIZE];
    int length;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record record, copy;

static void fill(int self, int turn)
{
    memset(record.body, 1 + self * 16 + turn % 16, SIZE);
    strcpy(record.name, self % 2 ? "an odd thread" : "an even one");
    strcat(record.name, turn % 2 ? " again" : "");
    record.length = (int)strlen(record.name);
    record.body[turn % SIZE] = 255;
    record.name[0] = 'A';
}

static void look(void)
{
    int length = 0, sum = 0;
    while (record.name[length])
        length++;
    for (int i = 0; i < SIZE; i++)
        sum += record.body[i];
    CHECK(length == record.length && sum > 0);
    CHECK(strchr(record.name, ' ') != NULL && strcmp(record.name, "A") > 0);
}

static void move(void)
{
    memmove(record.body + 1, record.body, SIZE - 1);
    memcpy(&copy, &record, sizeof copy);
    CHECK(memcmp(&copy, &record, sizeof copy) == 0);
    record = copy;
    copy.body[0] ^= 1;
    CHECK(record.body[0] == (copy.body[0] ^ 1) && record.body[1] == copy.body[1]);
    strncpy(copy.name, "gone", SIZE);
    CHECK(copy.name[3] == 'e' && copy.name[5] == 0);
    char *again = strdup(record.name);
    CHECK(again[0] == 'A' && strlen(again) == (size_t)record.length);
    free(again);
}

static void *work(void *number)
{
    for (int i = 0; i < TURNS; i++) {
        OK(pthread_mutex_lock(&lock));
        fill((int)(intptr_t)number, i);
        look();
        OK(pthread_mutex_unlock(&lock));
        OK(pthread_mutex_lock(&lock));
        look();
        move();
        OK(pthread_mutex_unlock(&lock));
    }
    return NULL;
}

int main(void)
{
    run_threads(THREADS, work);
    return 0;
}
