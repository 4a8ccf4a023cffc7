// What tests/runtime_options.rs runs under the monitor. The first argument says what to do.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t locks[64];
static int value;

static void *add_later(void *unused)
{
    usleep(20000);
    pthread_mutex_lock(&lock);
    value++;
    pthread_mutex_unlock(&lock);
    return unused;
}

/* The section of `outer` takes `lock` at two places, and the other thread comes between them. */
static void violate(void)
{
    pthread_t other;
    pthread_create(&other, NULL, add_later, NULL);
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&lock);
    int seen = value;
    pthread_mutex_unlock(&lock);
    usleep(60000);
    pthread_mutex_lock(&lock);
    value = seen + 1;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&outer);
    pthread_join(other, NULL);
}

static int code_of(pid_t child)
{
    int status;
    if (child == -1 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 99;
    return WEXITSTATUS(status);
}

static void *nothing(void *unused) { return unused; }

/* Forks when the monitor runs, and violates in the child only. */
static int fork_and_violate(void)
{
    pthread_t other;
    pthread_create(&other, NULL, nothing, NULL);
    pthread_join(other, NULL);
    pid_t child = fork();
    if (child == 0) {
        violate();
        exit(7);
    }
    int code = code_of(child);
    printf("%d %d\n", (int)child, code);
    return 0;
}

/* Starts itself in three ways; each child prints what it is preloaded with. */
static int start_children(char *self)
{
    char *arguments[] = {self, "preload", NULL}, command[4096];
    pid_t child = fork();
    if (child == 0) {
        execvp(self, arguments);
        _exit(98);
    }
    if (code_of(child) != 0 || posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0 || code_of(child) != 0)
        return 1;
    snprintf(command, sizeof command, "'%s' preload", self);
    return system(command);
}

static void *lock_much(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    for (int i = 0; i < 400000; i++) {
        random = random * 1664525u + 1013904223u;
        pthread_mutex_lock(&locks[random >> 26]);
        value++;
        pthread_mutex_unlock(&locks[random >> 26]);
    }
    return NULL;
}

static void flood(void)
{
    pthread_t threads[6];
    for (int i = 0; i < 64; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (uintptr_t i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, lock_much, (void *)(i + 1));
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "preload") == 0) {
        const char *preload = getenv("LD_PRELOAD");
        puts(preload != NULL ? preload : "nothing");
        return 0;
    }
    if (strcmp(mode, "fork") == 0)
        return fork_and_violate();
    if (strcmp(mode, "children") == 0)
        return start_children(arguments[0]);
    if (strcmp(mode, "flood") == 0) {
        flood();
        puts("done");
        return 7;
    }
    violate();
    if (strcmp(mode, "killed") == 0)
        raise(SIGTERM);
    if (strcmp(mode, "long") == 0)
        sleep(60);
    puts("done");
    return 7;
}
