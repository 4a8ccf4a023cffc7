/* Plain, unaligned, volatile and wide accesses, and copies of structures. Prints what came out. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wide {
    char bytes[200];
};
struct __attribute__((packed)) crooked {
    char first;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    unsigned __int128 sixteen;
};

struct wide left, right;
struct crooked crooked;
volatile struct crooked crooked_device;
volatile uint8_t device1;
volatile uint16_t device2;
volatile uint32_t device4;
volatile uint64_t device8;
volatile unsigned __int128 device16;
uint8_t plain1;
uint16_t plain2;
uint32_t plain4;
uint64_t plain8;
unsigned __int128 plain16;
volatile int ready;
int payload;

static void *reader(void *unused) {
    while (!ready) {
    }
    printf("payload %d\n", payload);
    return unused;
}

static void change(struct wide *to, const struct wide *from, size_t size) {
    *to = *from;
    memcpy(to->bytes, "copied", 7);
    memmove(to->bytes + 3, to->bytes, size);
    memset(to->bytes + 20, 'x', size);
}

static uint64_t mix(struct crooked *c) {
    c->first++;
    c->two += 2;
    c->four += 4;
    c->eight += 8;
    c->sixteen += 16;
    return c->first + c->two + c->four + c->eight + (uint64_t)c->sixteen;
}

static uint64_t mix_volatile(volatile struct crooked *c) {
    c->two += 2;
    c->four += 4;
    c->eight += 8;
    c->sixteen += 16;
    return c->two + c->four + c->eight + (uint64_t)c->sixteen;
}

int main(int argc, char **argv) {
    (void)argv;
    change(&left, &right, (size_t)argc + 5);
    printf("%s\n", left.bytes);
    device1 += 1, device2 += 2, device4 += 4, device8 += 8, device16 += 16;
    plain1 += 1, plain2 += 2, plain4 += 4, plain8 += 8, plain16 += 16;
    printf("%d %d %u %llu %llu\n", device1, device2, device4, (unsigned long long)device8, (unsigned long long)device16);
    printf("%d %d %u %llu %llu\n", plain1, plain2, plain4, (unsigned long long)plain8, (unsigned long long)plain16);
    printf("%llu\n", (unsigned long long)mix(&crooked));
    printf("%llu\n", (unsigned long long)mix_volatile(&crooked_device));
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    payload = 7;
    ready = 1;
    pthread_join(thread, NULL);
    return 0;
}
