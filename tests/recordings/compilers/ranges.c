// Structures that are copied, and the library's functions on memory and texts.
#include "same.h"

struct large {
    long words[20];
};

struct large one, two;
char text[80], other[80];
unsigned char bytes[100], more[100];
int results[16];

static void copy_structure(struct large *to, const struct large *from)
{
    *to = *from;
}

static void blocks(size_t size)
{
    memset(bytes, 7, size);
    BETWEEN();
    memcpy(more, bytes, size);
    BETWEEN();
    memmove(more + 1, more, size - 1);
    BETWEEN();
    results[0] = memcmp(bytes, more, size);
    BETWEEN();
    results[1] = memchr(bytes, 9, size) == NULL;
}

static void constant_blocks(void)
{
    memset(bytes, 0, 64);
    BETWEEN();
    memcpy(more, bytes, 48);
    BETWEEN();
    memcpy(&two, &one, sizeof two);
}

static void texts(const char *word)
{
    strcpy(text, word);
    BETWEEN();
    strcat(text, word);
    BETWEEN();
    results[2] = (int)strlen(text);
    BETWEEN();
    strncpy(other, text, 10);
    BETWEEN();
    results[3] = strcmp(text, other);
    BETWEEN();
    results[4] = strncmp(text, other, 3);
    BETWEEN();
    results[5] = strchr(text, 'z') == NULL;
    BETWEEN();
    results[6] = strstr(text, "de") != NULL;
}

static void *work(void *unused)
{
    copy_structure(&two, &one);
    blocks(80);
    constant_blocks();
    texts("abcde");
    return unused;
}

int main(void)
{
    return run_twice(work);
}
