// As bank_av_8, but one lock is held for the whole of what a teller does: nothing can be split.
#define HAS_TRANSACTIONS
#include "bank.h"
