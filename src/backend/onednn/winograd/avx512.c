/* The loops for processors with AVX-512: the Makefile compiles this file for them. */
#if defined(__x86_64__)
#define TABLE     od_winograd_avx512
#define LANES     16
#define MOST_ROWS 14
#include "backend/onednn/winograd/body.h"
#else
typedef int od_no_winograd_avx512;
#endif
