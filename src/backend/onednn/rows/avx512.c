/* The loops for processors with AVX-512 and its permutations of bytes: the Makefile compiles this
 * file for them. */
#if defined(__x86_64__)
#define TABLE od_rows_avx512
#include "backend/onednn/rows/body.h"
#else
typedef int od_no_avx512;
#endif
