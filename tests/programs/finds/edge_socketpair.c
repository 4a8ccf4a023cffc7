// The culprit reads from a socket pair what the block's thread writes.
#include "shared_value.h"
#include <sys/socket.h>

static int ends[2];
__attribute__((constructor)) static void init(void) { OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends)); }

#define RELEASE() CHECK(send(ends[1], "x", 1, 0) == 1)
#define AWAIT() CHECK(recv(ends[0], &(char){0}, 1, 0) == 1)
#define AFTERWARDS() OK(pthread_join(block_id, NULL))
#include "edge.h"
