// Readers never disturb each other.
#define FIRST pthread_rwlock_rdlock
#define SECOND pthread_rwlock_rdlock
#define BETWEEN pthread_rwlock_rdlock
#include "rwlock_window.h"
