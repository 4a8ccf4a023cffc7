// A writer between a write and the read-back.
// finds: update strong after
#define FIRST pthread_rwlock_wrlock
#define SECOND pthread_rwlock_rdlock
#define BETWEEN pthread_rwlock_wrlock
#include "rwlock_window.h"
