/* The loops for processors with AVX2 and FMA: the Makefile compiles this file for them. */
#if defined(__x86_64__)
#define TABLE     od_winograd_avx2
#define LANES     8
#define MOST_ROWS 6
#include "backend/onednn/winograd/body.h"
#else
typedef int od_no_winograd_avx2;
#endif
