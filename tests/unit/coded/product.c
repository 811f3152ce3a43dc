/*
 * Products from coded weights against sums in double precision: any size, number of samples, stride
 * and block, in the form for every kind of processor that this one can run. Argument: seed.
 */
#include "coded/product.h"
#include "support/tap.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>

#define SEED      31
#define N_TRIES   36
#define TOLERANCE 1e-5 /* of the sum of magnitudes */

struct subject {
    gsl_rng *rng;
    struct vbs_quantised quantised;
    struct vbs_coded *coded;
    int64_t n_rows, n_columns;
    int n_samples;
    size_t input_stride, output_stride;
    float *input, *output;
};

static int below(struct subject *subject, int n)
{
    return (int)gsl_rng_uniform_int(subject->rng, (unsigned long)n);
}

static void subject_clear(struct subject *subject)
{
    vbs_quantised_clear(&subject->quantised);
    vbs_coded_free(subject->coded);
    free(subject->input);
    free(subject->output);
    subject->coded = NULL;
}

static bool make_subject(struct subject *subject)
{
    struct vbs_coding_options options = {.coding = VBS_CODING_BYTES, .index_bits = 8};
    double density = below(subject, 5) / 4.0;
    float *weights;
    enum vbs_status status;

    subject->n_rows = 1 + below(subject, 30);
    subject->n_columns = 1 + below(subject, 700);
    subject->n_samples = 1 + below(subject, 150);
    subject->input_stride = (size_t)(subject->n_samples + below(subject, 9));
    subject->output_stride = (size_t)(subject->n_samples + below(subject, 9));
    options.block_rows = 1 + below(subject, 12);
    options.block_columns = 1 + below(subject, below(subject, 2) ? 600 : 100);
    weights = calloc((size_t)(subject->n_rows * subject->n_columns), sizeof *weights);
    for (int64_t i = 0; i < subject->n_rows * subject->n_columns; i++)
        if (gsl_rng_uniform(subject->rng) < density)
            weights[i] = (float)gsl_rng_uniform(subject->rng) - 0.5F;
    status = vbs_quantise(NULL, weights, subject->n_rows, subject->n_columns, 1 + below(subject, 8),
                          &subject->quantised);
    free(weights);
    if (status == VBS_OK)
        status = vbs_code(NULL, &subject->quantised, &options, &subject->coded);
    subject->input =
        malloc((size_t)subject->n_columns * subject->input_stride * sizeof *subject->input);
    subject->output =
        malloc((size_t)subject->n_rows * subject->output_stride * sizeof *subject->output);
    for (size_t i = 0; i < (size_t)subject->n_columns * subject->input_stride; i++)
        subject->input[i] = (float)gsl_rng_uniform(subject->rng) - 0.5F;
    return status == VBS_OK;
}

/* Gives whether one output is 1 more than the product, or is untouched behind the samples. */
static bool is_right(const struct subject *subject, int64_t row, size_t sample)
{
    float output = subject->output[(size_t)row * subject->output_stride + sample];
    double sum = 1, magnitude = 1;

    if (sample >= (size_t)subject->n_samples)
        return output == 1;
    for (int64_t c = 0; c < subject->n_columns; c++) {
        uint16_t index = subject->quantised.indices[row * subject->n_columns + c];
        double product = (double)subject->quantised.codebook[index] *
                         subject->input[(size_t)c * subject->input_stride + sample];

        sum += product;
        magnitude += fabs(product);
    }
    return fabs(output - sum) <= TOLERANCE * magnitude;
}

static bool is_product(const struct subject *subject)
{
    for (int64_t row = 0; row < subject->n_rows; row++)
        for (size_t s = 0; s < subject->output_stride; s++)
            if (!is_right(subject, row, s))
                return false;
    return true;
}

/* Computes in two parts of rows, with the product of one kind of processor or (null) of this one.
 */
static bool multiply(struct subject *subject, vbs_product_run *run)
{
    struct vbs_coded_shape shape;
    int64_t middle;
    bool holds = true;

    vbs_coded_describe(subject->coded, &shape);
    middle = below(subject, (int)shape.n_block_rows + 1);
    for (size_t i = 0; i < (size_t)subject->n_rows * subject->output_stride; i++)
        subject->output[i] = 1;
    for (int part = 0; part < 2; part++) {
        int64_t first = part ? middle : 0, end = part ? shape.n_block_rows : middle;
        struct vbs_product product = {
            .coded = subject->coded,
            .first_block_row = first,
            .end_block_row = end,
            .input = subject->input,
            .input_stride = subject->input_stride,
            .n_samples = subject->n_samples,
            .output = subject->output + (size_t)(first * shape.block_rows) * subject->output_stride,
            .output_stride = subject->output_stride};

        if (run)
            run(&product);
        else
            holds =
                holds && vbs_coded_multiply(NULL, subject->coded, first, end - first, product.input,
                                            product.input_stride, product.n_samples, product.output,
                                            product.output_stride) == VBS_OK;
    }
    return holds && is_product(subject);
}

static void test_product(struct subject *subject, vbs_product_run *run, const char *name)
{
    int n_wrong = 0;

    for (int i = 0; i < N_TRIES; i++) {
        n_wrong += !make_subject(subject) || !multiply(subject, run);
        subject_clear(subject);
    }
    ok(n_wrong == 0, "products of coded weights, %s (%d of %d)", name, N_TRIES - n_wrong, N_TRIES);
}

static void test_refusals(struct subject *subject)
{
    struct vbs_ctx ctx = {0};
    struct vbs_coded *joint = NULL;
    const struct vbs_coding_options options = {VBS_CODING_JOINT, 2, 4, 4};
    struct vbs_coded_shape shape;

    if (!make_subject(subject))
        return;
    vbs_coded_describe(subject->coded, &shape);
    is_int(vbs_coded_multiply(&ctx, subject->coded, 0, shape.n_block_rows + 1, subject->input,
                              subject->input_stride, 1, subject->output, subject->output_stride),
           VBS_USAGE, "rows behind the last are refused");
    is_int(vbs_coded_multiply(&ctx, subject->coded, 0, 1, subject->input, 1, 2, subject->output, 2),
           VBS_USAGE, "a stride below the samples is refused");
    if (vbs_code(&ctx, &subject->quantised, &options, &joint) == VBS_OK)
        is_int(vbs_coded_multiply(&ctx, joint, 0, 1, subject->input, subject->input_stride, 1,
                                  subject->output, subject->output_stride),
               VBS_UNSUPPORTED, "coding joint has no product");
    vbs_coded_free(joint);
    subject_clear(subject);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    struct subject subject = {.rng = gsl_rng_alloc(gsl_rng_taus2)};

    printf("# seed %lu\n", seed);
    gsl_rng_set(subject.rng, seed);
    test_product(&subject, NULL, "as this processor computes them");
    test_product(&subject, vbs_product_plain, "as any processor computes them");
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        test_product(&subject, vbs_product_avx2, "with AVX2");
    if (__builtin_cpu_supports("avx512f"))
        test_product(&subject, vbs_product_avx512, "with AVX-512");
#endif
    test_refusals(&subject);
    gsl_rng_free(subject.rng);
    return done_testing();
}
