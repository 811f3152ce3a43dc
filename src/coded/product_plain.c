/* The product for any processor. */
#define LANES   4
#define PRODUCT vbs_product_plain
#include "coded/product_body.h"
