/* Stands in for the monitor: prints the marks that reach it, and from which function they come. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *caller(void *address) {
    Dl_info info;
    return dladdr(address, &info) && info.dli_sname ? info.dli_sname : "?";
}

#define MARK(name)                                                                                                    \
    void avmon_##name(void *object, int shared) {                                                                     \
        printf("%s %s shared=%d%s\n", caller(__builtin_return_address(0)), #name, shared,                             \
               !strcmp(#name, "block_begin") && !strcmp(object, "a label") ? " a label" : "");                        \
        fflush(stdout);                                                                                               \
    }

MARK(block_begin)
MARK(block_end)
MARK(lock_created)
MARK(lock_destroyed)
MARK(lock_code_begin)
MARK(lock_code_end)
MARK(lock_acquired)
MARK(lock_releasing)
MARK(order_signal)
MARK(order_await)
MARK(interference)
