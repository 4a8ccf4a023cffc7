// One thread runs BLOCK() and another CULPRIT(), at different times but ordered by nothing else.
#ifndef BLOCK_AT_MS
#define BLOCK_AT_MS 0
#endif
#ifndef CULPRIT_AT_MS
#define CULPRIT_AT_MS 60
#endif

static void *block_thread(void *unused)
{
    sleep_ms(BLOCK_AT_MS);
    BLOCK();
    return unused;
}

static void *culprit_thread(void *unused)
{
    sleep_ms(CULPRIT_AT_MS);
    CULPRIT();
    return unused;
}

int main(void)
{
    pthread_t block, culprit;
    OK(pthread_create(&block, NULL, block_thread, NULL));
    OK(pthread_create(&culprit, NULL, culprit_thread, NULL));
    OK(pthread_join(block, NULL));
    OK(pthread_join(culprit, NULL));
    puts("done");
    return 0;
}
