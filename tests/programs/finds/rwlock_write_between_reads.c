// Two reads with a write between them need not see the same.
// finds: update strong after
#define FIRST pthread_rwlock_rdlock
#define SECOND pthread_rwlock_rdlock
#define BETWEEN pthread_rwlock_wrlock
#include "rwlock_window.h"
