// The balance of each account is read in one section and written in another, by a teller who pays in and one who pays out.
#include "bank.h"
