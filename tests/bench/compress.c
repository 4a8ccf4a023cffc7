/* A compressor in the manner of LZ77: a hash of recent positions, matches byte by byte, a queue of blocks under one lock. */
#include "timing.h"

enum { BLOCK = 1 << 16, BLOCKS = 160, HASHES = 1 << 13 };

static unsigned char input[BLOCK * 4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_block;
static uint64_t packed_bytes;

static unsigned hash_of(const unsigned char *at) {
    return (unsigned)((at[0] | at[1] << 8 | at[2] << 16) * 2654435761u >> 19);
}

static int match_length(const unsigned char *a, const unsigned char *b, int most) {
    int length = 0;
    while (length < most && a[length] == b[length])
        length++;
    return length;
}

static int pack(const unsigned char *from, int size, unsigned char *to, int *recent) {
    int at = 0, written = 0;
    while (at + 4 < size) {
        unsigned hash = hash_of(from + at);
        int candidate = recent[hash];
        recent[hash] = at;
        int length = candidate < at ? match_length(from + candidate, from + at, size - at) : 0;
        if (length >= 4) {
            to[written++] = (unsigned char)length;
            to[written++] = (unsigned char)(at - candidate);
            to[written++] = (unsigned char)((at - candidate) >> 8);
            at += length < 255 ? length : 255;
        } else {
            to[written++] = from[at++];
        }
    }
    return written;
}

static void *work(void *unused) {
    unsigned char *to = malloc(BLOCK * 2);
    int *recent = malloc(HASHES * sizeof *recent);
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&lock);
        int block = next_block++;
        pthread_mutex_unlock(&lock);
        if (block >= BLOCKS)
            break;
        for (int i = 0; i < HASHES; i++)
            recent[i] = 0;
        int written = pack(input + block % 4 * BLOCK, BLOCK, to, recent);
        pthread_mutex_lock(&lock);
        packed_bytes += (uint64_t)written;
        pthread_mutex_unlock(&lock);
    }
    free(to);
    free(recent);
    return NULL;
}

int main(int count, char **arguments) {
    uint64_t random = 88172645463325252u;
    for (int i = 0; i < BLOCK * 4; i++)
        input[i] = (unsigned char)("etaoin shrdlu"[next_random(&random) % 13] + (next_random(&random) % 64 == 0));
    return measure(count, arguments, work);
}
