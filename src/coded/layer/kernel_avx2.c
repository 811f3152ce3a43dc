/* The kernels for processors with AVX2 and FMA: the Makefile compiles this file for them. Of 16
 * registers one holds the weight. */
#if defined(__x86_64__)
#include "coded/layer/spans.h"

#define LANES        8
#define MOST_VECTORS 14
#define SPANS        SPANS_14
#define PROCESSOR    vbs_coded_avx2
#include "coded/layer/kernel_body.h"
#else
typedef int vbs_no_avx2;
#endif
