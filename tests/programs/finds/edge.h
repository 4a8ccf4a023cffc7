// A window in one thread and an acquire in another, which runs only after RELEASE() in the first has let AWAIT() in the
// second go on. Whatever orders the two so makes a split impossible: there must be no finding.
static pthread_t block_id, culprit_id;

static void update(void)
{
    int seen = get();
    set(seen + 1);
}

static void *block_thread(void *unused)
{
    sleep_ms(20);
    update();
    RELEASE();
    return unused;
}

static void *culprit_thread(void *unused)
{
    AWAIT();
    set(100);
    return unused;
}

int main(void)
{
    OK(pthread_create(&block_id, NULL, block_thread, NULL));
    OK(pthread_create(&culprit_id, NULL, culprit_thread, NULL));
    OK(pthread_join(culprit_id, NULL));
    AFTERWARDS();
    puts("done");
    return 0;
}
