/* The blocks that suit the kernels of layers, found by measuring. */
#include "vbslab/coded.h"

#define ROWS 64

/* Of a convolution: the lines of the input that a span of positions reads for so many weights stay
 * in the first cache (of 32 KiB), whatever the coding. */
#define WINDOW_COLUMNS 144

/* Of an inner product: long rows cost few branches that are predicted wrongly, and with 64 samples
 * the input of so many columns stays in the second cache. Entries that are decoded take 8 bytes
 * each in the workspace, beside the 2 that they have in coding bytes. */
#define BYTES_COLUMNS 2048
#define CODED_COLUMNS 1024

void vbs_coded_choose_blocks(enum vbs_coding coding, int64_t n_rows, int64_t n_columns,
                             int64_t window, struct vbs_coding_options *options)
{
    int64_t columns = coding == VBS_CODING_BYTES ? BYTES_COLUMNS : CODED_COLUMNS;

    if (window > 1)
        columns = window < WINDOW_COLUMNS ? WINDOW_COLUMNS / window * window : window;
    options->block_rows = n_rows < ROWS ? n_rows : ROWS;
    options->block_columns = n_columns < columns ? n_columns : columns;
}
