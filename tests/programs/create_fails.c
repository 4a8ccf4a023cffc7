// pthread_create that cannot get a stack fails with EAGAIN, and the next one works.
#include "check.h"
#include <sys/resource.h>

static void *thread(void *value) { return value; }

int main(void)
{
    pthread_attr_t huge;
    pthread_t id;
    void *value;
    OK(pthread_create(&id, NULL, thread, NULL));
    OK(pthread_join(id, NULL));
    OK(pthread_attr_init(&huge));
    OK(pthread_attr_setstacksize(&huge, (size_t)1 << 46));
    RETURNS(pthread_create(&id, &huge, thread, NULL), EAGAIN);
    OK(pthread_create(&id, NULL, thread, (void *)5));
    OK(pthread_join(id, &value));
    CHECK(value == (void *)5);
    puts("ok");
    return 0;
}
