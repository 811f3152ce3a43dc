/* The product for processors with AVX-512: the Makefile compiles this file for them. */
#include "coded/product.h"

#if defined(__x86_64__)
#define LANES   16
#define PRODUCT vbs_product_avx512
#include "coded/product_body.h"
#endif
