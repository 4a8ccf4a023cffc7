// system() and popen() from two threads at once.
#include "check.h"
#include <sys/wait.h>

static void *shell(void *unused)
{
    for (int i = 0; i < 5; i++)
        CHECK(WEXITSTATUS(system("exit 34")) == 34);
    return unused;
}

int main(void)
{
    pthread_t id;
    char line[64];
    OK(pthread_create(&id, NULL, shell, NULL));
    for (int i = 0; i < 5; i++) {
        FILE *pipe = popen("echo through the pipe; exit 35", "r");
        CHECK(pipe && fgets(line, sizeof line, pipe));
        fputs(line, stdout);
        CHECK(WEXITSTATUS(pclose(pipe)) == 35);
    }
    FILE *out = popen("cat", "w");
    CHECK(out);
    fflush(stdout);
    fputs("into the pipe\n", out);
    CHECK(pclose(out) == 0);
    OK(pthread_join(id, NULL));
    CHECK(system(NULL) != 0);
    return 0;
}
