/* The kernels for every processor. */
#include "coded/layer/spans.h"

#define LANES        4
#define MOST_VECTORS 12
#define SPANS        SPANS_12
#define PROCESSOR    vbs_coded_plain
#include "coded/layer/kernel_body.h"
