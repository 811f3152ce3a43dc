/* The loops for any processor. */
#define TABLE od_rows_plain
#include "backend/onednn/rows/body.h"
