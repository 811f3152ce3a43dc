/* The loops for processors with AVX2 and FMA: the Makefile compiles this file for them. */
#if defined(__x86_64__)
#define TABLE od_rows_avx2
#include "backend/onednn/rows/body.h"
#else
typedef int od_no_avx2;
#endif
