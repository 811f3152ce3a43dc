/* The blocks that suit the kernels of layers, found by measuring. */
#include "vbslab/coded.h"

#define ROWS            64
#define WINDOW_COLUMNS  144 /* whose planes stay in the first cache */
#define PRODUCT_COLUMNS 512

void vbs_coded_choose_blocks(enum vbs_coding coding, int64_t n_rows, int64_t n_columns,
                             int64_t window, struct vbs_coding_options *options)
{
    int64_t columns = PRODUCT_COLUMNS;

    (void)coding;
    if (window > 1)
        columns = window < WINDOW_COLUMNS ? WINDOW_COLUMNS / window * window : window;
    options->block_rows = n_rows < ROWS ? n_rows : ROWS;
    options->block_columns = n_columns < columns ? n_columns : columns;
}
