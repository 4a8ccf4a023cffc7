// A writer between two writes.
// finds: update strong after
#define FIRST pthread_rwlock_wrlock
#define SECOND pthread_rwlock_wrlock
#define BETWEEN pthread_rwlock_wrlock
#include "rwlock_window.h"
