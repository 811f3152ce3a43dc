#include "coded/product.h"

#include "base/fail.h"

/* Gives the product for the widest vectors that this processor has. */
static vbs_product_run *choose_product(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return vbs_product_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return vbs_product_avx2;
#endif
    return vbs_product_plain;
}

enum vbs_status vbs_coded_multiply(struct vbs_ctx *ctx, const struct vbs_coded *coded,
                                   int64_t first_block_row, int64_t n_block_rows,
                                   const float *input, size_t input_stride, int n_samples,
                                   float *output, size_t output_stride)
{
    const struct vbs_coded_header *header = &coded->header;
    struct vbs_product product = {.coded = coded,
                                  .first_block_row = first_block_row,
                                  .end_block_row = first_block_row + n_block_rows,
                                  .input = input,
                                  .input_stride = input_stride,
                                  .n_samples = n_samples,
                                  .output = output,
                                  .output_stride = output_stride};

    if (header->coding != VBS_CODING_BYTES || header->bits > 8)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "products are computed from coding bytes with indices of up to 8 bits");
    if (first_block_row < 0 || n_block_rows < 0 ||
        n_block_rows > coded->n_block_rows - first_block_row || n_samples < 0 ||
        input_stride < (size_t)n_samples || output_stride < (size_t)n_samples)
        return vbs_fail(ctx, VBS_USAGE, "rows or samples of a product are out of range");
    choose_product()(&product);
    return VBS_OK;
}
