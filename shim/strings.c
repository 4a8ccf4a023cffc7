/*
 * Runs in the program's threads: functions on bytes and strings that instrumented code calls. In a recording the bytes that they
 * touch are accesses of their caller. Each comes with the caller's address as one more argument.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <string.h>

#define RECORDING AVMON_UNLIKELY(avmon_recording != 0)
#define READ(from, size) avmon_read_range_pc((uintptr_t)(from), (size), pc)
#define WRITE(to, size) avmon_write_range_pc((uintptr_t)(to), (size), pc)

AVMON_PRIVATE void avmon_read_range_pc(uintptr_t address, uintptr_t size, uintptr_t pc);
AVMON_PRIVATE void avmon_write_range_pc(uintptr_t address, uintptr_t size, uintptr_t pc);

/* A checked form ends the program if there is not enough room, and then nothing is touched. */
extern void *__memcpy_chk(void *, const void *, size_t, size_t);
extern void *__memmove_chk(void *, const void *, size_t, size_t);
extern void *__mempcpy_chk(void *, const void *, size_t, size_t);
extern void *__memset_chk(void *, int, size_t, size_t);
extern char *__strcpy_chk(char *, const char *, size_t);
extern char *__stpcpy_chk(char *, const char *, size_t);
extern char *__strncpy_chk(char *, const char *, size_t, size_t);
extern char *__strcat_chk(char *, const char *, size_t);
extern char *__strncat_chk(char *, const char *, size_t, size_t);

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The string with its end, or as much of it as is looked at. */
static size_t string(const char *s) { return strlen(s) + 1; }
static size_t start_of_string(const char *s, size_t most) {
    size_t length = strnlen(s, most);
    return length < most ? length + 1 : most;
}

/* How many bytes are compared until two are found that differ, or the strings end. */
static size_t compared(const char *a, const char *b, size_t most, int ends) {
    size_t i = 0;
    while (i < most && a[i] == b[i] && !(ends && a[i] == 0))
        i++;
    return least(i + 1, most);
}

#define COPY(name)                                                                                                    \
    AVMON_PRIVATE void *avmon_##name(void *to, const void *from, size_t size, uintptr_t pc) {                         \
        if (RECORDING) {                                                                                              \
            READ(from, size);                                                                                         \
            WRITE(to, size);                                                                                          \
        }                                                                                                             \
        return name(to, from, size);                                                                                  \
    }                                                                                                                 \
    AVMON_PRIVATE void *avmon___##name##_chk(void *to, const void *from, size_t size, size_t room, uintptr_t pc) {    \
        if (RECORDING && size <= room) {                                                                              \
            READ(from, size);                                                                                         \
            WRITE(to, size);                                                                                          \
        }                                                                                                             \
        return __##name##_chk(to, from, size, room);                                                                  \
    }

COPY(memcpy)
COPY(memmove)
COPY(mempcpy)

AVMON_PRIVATE void *avmon_memset(void *to, int byte, size_t size, uintptr_t pc) {
    if (RECORDING)
        WRITE(to, size);
    return memset(to, byte, size);
}

AVMON_PRIVATE void *avmon___memset_chk(void *to, int byte, size_t size, size_t room, uintptr_t pc) {
    if (RECORDING && size <= room)
        WRITE(to, size);
    return __memset_chk(to, byte, size, room);
}

AVMON_PRIVATE int avmon_memcmp(const void *a, const void *b, size_t size, uintptr_t pc) {
    if (RECORDING) {
        size_t touched = compared(a, b, size, 0);
        READ(a, touched);
        READ(b, touched);
    }
    return memcmp(a, b, size);
}

AVMON_PRIVATE void *avmon_memchr(const void *s, int byte, size_t size, uintptr_t pc) {
    void *found = memchr(s, byte, size);
    if (RECORDING)
        READ(s, found != NULL ? (size_t)((char *)found - (const char *)s) + 1 : size);
    return found;
}

AVMON_PRIVATE size_t avmon_strlen(const char *s, uintptr_t pc) {
    size_t length = strlen(s);
    if (RECORDING)
        READ(s, length + 1);
    return length;
}

AVMON_PRIVATE size_t avmon_strnlen(const char *s, size_t most, uintptr_t pc) {
    size_t length = strnlen(s, most);
    if (RECORDING)
        READ(s, length < most ? length + 1 : most);
    return length;
}

static void copies_string(const char *to, const char *from, uintptr_t pc) {
    size_t size = string(from);
    READ(from, size);
    WRITE(to, size);
}

#define COPY_STRING(name)                                                                                             \
    AVMON_PRIVATE char *avmon_##name(char *to, const char *from, uintptr_t pc) {                                      \
        if (RECORDING)                                                                                                \
            copies_string(to, from, pc);                                                                              \
        return name(to, from);                                                                                        \
    }                                                                                                                 \
    AVMON_PRIVATE char *avmon___##name##_chk(char *to, const char *from, size_t room, uintptr_t pc) {                 \
        if (RECORDING && string(from) <= room)                                                                        \
            copies_string(to, from, pc);                                                                              \
        return __##name##_chk(to, from, room);                                                                        \
    }

COPY_STRING(strcpy)
COPY_STRING(stpcpy)

/* What is left of the target is filled with zeroes. */
AVMON_PRIVATE char *avmon_strncpy(char *to, const char *from, size_t size, uintptr_t pc) {
    if (RECORDING) {
        READ(from, start_of_string(from, size));
        WRITE(to, size);
    }
    return strncpy(to, from, size);
}

AVMON_PRIVATE char *avmon___strncpy_chk(char *to, const char *from, size_t size, size_t room, uintptr_t pc) {
    if (RECORDING && size <= room) {
        READ(from, start_of_string(from, size));
        WRITE(to, size);
    }
    return __strncpy_chk(to, from, size, room);
}

static void appends(const char *to, const char *from, size_t read, size_t written, uintptr_t pc) {
    size_t end = strlen(to);
    READ(to, end + 1);
    READ(from, read);
    WRITE(to + end, written);
}

AVMON_PRIVATE char *avmon_strcat(char *to, const char *from, uintptr_t pc) {
    if (RECORDING)
        appends(to, from, string(from), string(from), pc);
    return strcat(to, from);
}

AVMON_PRIVATE char *avmon___strcat_chk(char *to, const char *from, size_t room, uintptr_t pc) {
    if (RECORDING && strlen(to) + string(from) <= room)
        appends(to, from, string(from), string(from), pc);
    return __strcat_chk(to, from, room);
}

AVMON_PRIVATE char *avmon_strncat(char *to, const char *from, size_t most, uintptr_t pc) {
    if (RECORDING)
        appends(to, from, start_of_string(from, most), strnlen(from, most) + 1, pc);
    return strncat(to, from, most);
}

AVMON_PRIVATE char *avmon___strncat_chk(char *to, const char *from, size_t most, size_t room, uintptr_t pc) {
    if (RECORDING && strlen(to) + strnlen(from, most) + 1 <= room)
        appends(to, from, start_of_string(from, most), strnlen(from, most) + 1, pc);
    return __strncat_chk(to, from, most, room);
}

AVMON_PRIVATE int avmon_strcmp(const char *a, const char *b, uintptr_t pc) {
    if (RECORDING) {
        size_t touched = compared(a, b, SIZE_MAX, 1);
        READ(a, touched);
        READ(b, touched);
    }
    return strcmp(a, b);
}

AVMON_PRIVATE int avmon_strncmp(const char *a, const char *b, size_t most, uintptr_t pc) {
    if (RECORDING) {
        size_t touched = compared(a, b, most, 1);
        READ(a, touched);
        READ(b, touched);
    }
    return strncmp(a, b, most);
}

AVMON_PRIVATE char *avmon_strchr(const char *s, int byte, uintptr_t pc) {
    char *found = strchr(s, byte);
    if (RECORDING)
        READ(s, found != NULL ? (size_t)(found - s) + 1 : string(s));
    return found;
}

AVMON_PRIVATE char *avmon_strrchr(const char *s, int byte, uintptr_t pc) {
    if (RECORDING)
        READ(s, string(s));
    return strrchr(s, byte);
}

AVMON_PRIVATE char *avmon_strstr(const char *s, const char *part, uintptr_t pc) {
    char *found = strstr(s, part);
    if (RECORDING) {
        READ(part, string(part));
        READ(s, found != NULL ? (size_t)(found - s) + strlen(part) : string(s));
    }
    return found;
}

AVMON_PRIVATE char *avmon_strdup(const char *s, uintptr_t pc) {
    if (RECORDING)
        READ(s, string(s));
    char *copy = strdup(s);
    if (RECORDING && copy != NULL)
        WRITE(copy, string(copy));
    return copy;
}

AVMON_PRIVATE char *avmon_strndup(const char *s, size_t most, uintptr_t pc) {
    if (RECORDING)
        READ(s, start_of_string(s, most));
    char *copy = strndup(s, most);
    if (RECORDING && copy != NULL)
        WRITE(copy, string(copy));
    return copy;
}
