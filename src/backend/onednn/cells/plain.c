/* The loops for any processor. */
#define TABLE     od_cells_plain
#define LANES     4
#define MOST_ROWS 3
#include "backend/onednn/cells/body.h"
