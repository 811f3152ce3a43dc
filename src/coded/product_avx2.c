/* The product for processors with AVX2 and FMA: the Makefile compiles this file for them. */
#include "coded/product.h"

#if defined(__x86_64__)
#define LANES   8
#define PRODUCT vbs_product_avx2
#include "coded/product_body.h"
#endif
