// A reader between two writes sees half of the change.
// finds: update strong after
#define FIRST pthread_rwlock_wrlock
#define SECOND pthread_rwlock_wrlock
#define BETWEEN pthread_rwlock_rdlock
#include "rwlock_window.h"
