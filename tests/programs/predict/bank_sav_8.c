// As bank_av_8, but who pays out waits until money is expected. That is told when the balance was read, not when it is written: half a fix.
#define WAITS_FOR_MONEY
#include "bank.h"
