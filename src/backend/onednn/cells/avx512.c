/* The loops for processors with AVX-512: the Makefile compiles this file for them. */
#if defined(__x86_64__)
#define TABLE     od_cells_avx512
#define LANES     16
#define MOST_ROWS 6
#include "backend/onednn/cells/body.h"
#else
typedef int od_no_cells_avx512;
#endif
