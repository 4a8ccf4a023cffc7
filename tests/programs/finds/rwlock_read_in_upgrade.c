// A reader between a read and a write could as well have come before both.
#define FIRST pthread_rwlock_rdlock
#define SECOND pthread_rwlock_wrlock
#define BETWEEN pthread_rwlock_rdlock
#include "rwlock_window.h"
