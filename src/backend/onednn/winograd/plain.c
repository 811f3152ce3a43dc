/* The loops for any processor. */
#define TABLE     od_winograd_plain
#define LANES     4
#define MOST_ROWS 6
#include "backend/onednn/winograd/body.h"
