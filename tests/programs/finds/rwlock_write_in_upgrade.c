// A writer between a read and the write that follows from it: the lost update.
// finds: update strong after
#define FIRST pthread_rwlock_rdlock
#define SECOND pthread_rwlock_wrlock
#define BETWEEN pthread_rwlock_wrlock
#include "rwlock_window.h"
