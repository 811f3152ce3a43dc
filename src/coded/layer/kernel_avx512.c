/* The kernels for processors with AVX-512: the Makefile compiles this file for them. They have 32
 * registers. */
#if defined(__x86_64__)
#include "coded/layer/spans.h"

#define LANES        16
#define MOST_VECTORS 28
#define SPANS        SPANS_28
#define PROCESSOR    vbs_coded_avx512
#include "coded/layer/kernel_body.h"
#else
typedef int vbs_no_avx512;
#endif
