// A reader between a write and a read could as well have come after both.
#define FIRST pthread_rwlock_wrlock
#define SECOND pthread_rwlock_rdlock
#define BETWEEN pthread_rwlock_rdlock
#include "rwlock_window.h"
