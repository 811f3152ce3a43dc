/*
 * Layers from coded weights against sums in double precision: random windows, strides, dilations,
 * padding, groups, layouts, batches, codings, blocks, methods and threads, with the kernels for
 * every kind of processor that this one can run. The workspace begins as NaN, and nothing behind it
 * changes. Arguments: seed, number of tries.
 */
#include "coded/layer/layer.h"
#include "support/tap.h"
#include "support/trials.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>

#define SEED      37
#define N_TRIES   150
#define TOLERANCE 1e-5 /* of the sum of magnitudes */
#define GUARD     256  /* bytes behind the workspace */
#define UNTOUCHED 12345.0F

struct subject {
    gsl_rng *rng;
    struct vbs_coded_layer layer;
    struct vbs_quantised quantised;
    struct vbs_coded *coded;
    float *input, *output, *scale, *bias;
    int64_t n_input, n_output; /* floats */
    int64_t window;
    bool few_samples; /* only inner products of few samples */
};

static int below(struct subject *subject, int n)
{
    return (int)gsl_rng_uniform_int(subject->rng, (unsigned long)n);
}

static bool naive_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride,
                       const float *b, int64_t b_stride, float *c, int64_t c_stride)
{
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                c[i * c_stride + j] += a[i * a_stride + l] * b[l * b_stride + j];
    return true;
}

static bool failing_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride,
                         const float *b, int64_t b_stride, float *c, int64_t c_stride)
{
    (void)m, (void)n, (void)k, (void)a, (void)a_stride, (void)b, (void)b_stride, (void)c;
    (void)c_stride;
    return false;
}

/* Backwards: no part may wait for another. */
static void backwards(int n, void (*body)(void *job, int i), void *job)
{
    for (int i = n - 1; i >= 0; i--)
        body(job, i);
}

static float random_float(struct subject *subject)
{
    return (float)gsl_rng_uniform(subject->rng) - 0.5F;
}

static float *random_floats(struct subject *subject, int64_t n)
{
    float *floats = malloc((size_t)n * sizeof *floats);

    for (int64_t i = 0; i < n; i++)
        floats[i] = random_float(subject);
    return floats;
}

/* A tensor in one of the layouts, and the floats of one. */
static struct vbs_coded_tensor random_tensor(struct subject *subject, int64_t channels,
                                             int64_t n_positions, int64_t *n_floats)
{
    static const int BLOCKS[] = {4, 8, 16};
    struct vbs_coded_tensor tensor = {
        .channels = channels, .stored_channels = channels, .n_positions = n_positions};
    int64_t block = BLOCKS[below(subject, 3)];

    switch (below(subject, 4)) {
    case 0: /* plain */
        tensor.block = channels;
        tensor.channel_stride = n_positions;
        tensor.position_stride = 1;
        tensor.sample_stride = channels * n_positions;
        break;
    case 1: /* channels last */
        tensor.block = channels;
        tensor.channel_stride = 1;
        tensor.position_stride = channels;
        tensor.sample_stride = channels * n_positions;
        break;
    case 2: /* blocked */
        tensor.block = block;
        tensor.stored_channels = (channels + block - 1) / block * block;
        tensor.block_stride = n_positions * block;
        tensor.channel_stride = 1;
        tensor.position_stride = block;
        tensor.sample_stride = tensor.stored_channels * n_positions;
        break;
    default: /* with gaps everywhere */
        tensor.block = channels;
        tensor.channel_stride = n_positions * 2 + 1;
        tensor.position_stride = 2;
        tensor.sample_stride = tensor.channel_stride * channels + 3;
    }
    *n_floats = tensor.sample_stride * subject->layer.batch;
    return tensor;
}

static int64_t element(const struct vbs_coded_tensor *tensor, int64_t sample, int64_t channel,
                       int64_t position)
{
    return sample * tensor->sample_stride + channel / tensor->block * tensor->block_stride +
           channel % tensor->block * tensor->channel_stride + position * tensor->position_stride;
}

/* A window of a convolution, and the sizes that it has. */
static void random_window(struct subject *subject, int64_t *n_in, int64_t *n_out)
{
    struct vbs_coded_layer *layer = &subject->layer;

    *n_in = *n_out = subject->window = 1;
    for (int d = 0; d < layer->n_spatial; d++) {
        int64_t reach;

        layer->kernel[d] = 1 + below(subject, 4);
        layer->stride[d] = 1 + below(subject, 3);
        layer->dilation[d] = 1 + below(subject, 3);
        layer->pad_low[d] = below(subject, 4);
        layer->out_size[d] = 1 + below(subject, layer->n_spatial == 3 ? 4 : 9);
        reach = (layer->out_size[d] - 1) * layer->stride[d] +
                (layer->kernel[d] - 1) * layer->dilation[d] + 1 - layer->pad_low[d];
        /* Up to three places of padding behind, or places that no output reads. */
        layer->in_size[d] = reach - 3 + below(subject, 6);
        if (layer->in_size[d] < 1)
            layer->in_size[d] = 1;
        *n_in *= layer->in_size[d];
        *n_out *= layer->out_size[d];
        subject->window *= layer->kernel[d];
    }
}

static enum vbs_status code_weights(struct subject *subject, int64_t n_rows, int64_t n_columns)
{
    struct vbs_coding_options options = {.coding = (enum vbs_coding)below(subject, VBS_N_CODINGS),
                                         .index_bits = 1 + below(subject, 8)};
    int bits =
        1 + below(subject,
                  options.coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_BITS - options.index_bits : 8);
    double density = below(subject, 5) / 4.0;
    float *weights = calloc((size_t)(n_rows * n_columns), sizeof *weights);
    enum vbs_status status;

    bits = bits > 8 ? 8 : bits;
    options.block_rows = 1 + below(subject, below(subject, 2) ? 40 : 4);
    options.block_columns = 1 + below(subject, below(subject, 2) ? 600 : 40);
    for (int64_t i = 0; i < n_rows * n_columns; i++)
        if (gsl_rng_uniform(subject->rng) < density)
            weights[i] = random_float(subject);
    status = vbs_quantise(NULL, weights, n_rows, n_columns, bits, &subject->quantised);
    free(weights);
    if (status == VBS_OK)
        status = vbs_code(NULL, &subject->quantised, &options, &subject->coded);
    return status;
}

static bool make_subject(struct subject *subject)
{
    struct vbs_coded_layer *layer = &subject->layer;
    int64_t n_in, n_out, rows, channels;

    *layer = (struct vbs_coded_layer){.n_spatial = subject->few_samples ? 0 : below(subject, 4),
                                      .method = (enum vbs_coded_method)below(subject, 2),
                                      .gemm = naive_gemm,
                                      .groups = 1,
                                      .threads = 1 + below(subject, 4),
                                      .relu = below(subject, 2)};
    if (subject->few_samples)
        layer->batch = below(subject, 2) ? 1 : 1 + below(subject, 48);
    else
        layer->batch = 1 + below(subject, below(subject, 3) ? 9 : layer->n_spatial == 0 ? 150 : 40);
    if (below(subject, 2))
        layer->parallel = backwards;
    if (layer->n_spatial > 0 && below(subject, 3) == 0)
        layer->groups = 1 + below(subject, 4);
    rows = layer->groups * (1 + below(subject, 20));
    channels = layer->groups * (1 + below(subject, layer->n_spatial == 0 ? 60 : 10));
    random_window(subject, &n_in, &n_out);
    if (layer->n_spatial == 0)
        n_in = subject->window = below(subject, 2) ? 1 : 1 + below(subject, 12);
    layer->input = random_tensor(subject, channels, n_in, &subject->n_input);
    layer->output = random_tensor(subject, rows, n_out, &subject->n_output);
    if (code_weights(subject, rows, channels / layer->groups * subject->window) != VBS_OK)
        return false;
    layer->coded = subject->coded;
    subject->input = random_floats(subject, subject->n_input);
    subject->output = random_floats(subject, subject->n_output);
    if (below(subject, 2))
        layer->scale = subject->scale = random_floats(subject, rows);
    if (below(subject, 2))
        layer->bias = subject->bias = random_floats(subject, rows);
    return true;
}

static void subject_clear(struct subject *subject)
{
    vbs_quantised_clear(&subject->quantised);
    vbs_coded_free(subject->coded);
    free(subject->input);
    free(subject->output);
    free(subject->scale);
    free(subject->bias);
    *subject = (struct subject){.rng = subject->rng, .few_samples = subject->few_samples};
}

/* Gives the element of the input that a column reads for an output position, or -1: padding. */
static int64_t read_of(const struct subject *subject, int64_t sample, int64_t row, int64_t column,
                       const int64_t *at)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    int64_t channel = column / subject->window, rest = column % subject->window, position = 0;
    int64_t group = row / (layer->output.channels / layer->groups), size = 1;

    if (layer->n_spatial == 0)
        return element(&layer->input, sample, channel, rest);
    for (int d = layer->n_spatial - 1; d >= 0; d--) {
        int64_t x = at[d] * layer->stride[d] + rest % layer->kernel[d] * layer->dilation[d] -
                    layer->pad_low[d];

        if (x < 0 || x >= layer->in_size[d])
            return -1;
        rest /= layer->kernel[d];
        position += x * size;
        size *= layer->in_size[d];
    }
    return element(&layer->input, sample, channel + group * (layer->input.channels / layer->groups),
                   position);
}

/* Gives whether one output is right. */
static bool is_right(const struct subject *subject, int64_t sample, int64_t row, int64_t position)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    float output = subject->output[element(&layer->output, sample, row, position)];
    double sum = 0, magnitude = 0, scale = layer->scale ? layer->scale[row] : 1;
    int64_t at[VBS_CODED_SPATIAL] = {0}, rest = position;

    for (int d = layer->n_spatial - 1; d >= 0; d--) {
        at[d] = rest % layer->out_size[d];
        rest /= layer->out_size[d];
    }
    for (int64_t c = 0; c < subject->quantised.n_columns; c++) {
        uint16_t index = subject->quantised.indices[row * subject->quantised.n_columns + c];
        int64_t read = read_of(subject, sample, row, c, at);
        double product =
            read < 0 ? 0 : (double)subject->quantised.codebook[index] * subject->input[read];

        sum += product;
        magnitude += fabs(product);
    }
    sum = scale * sum + (layer->bias ? layer->bias[row] : 0);
    magnitude = fabs(scale) * magnitude + 1;
    if (layer->relu && sum < 0)
        sum = 0;
    return fabs(output - sum) <= TOLERANCE * magnitude;
}

/* Gives whether the output is right, 0 in the channels that fill up, and untouched elsewhere. */
static bool is_layer(struct subject *subject)
{
    const struct vbs_coded_tensor *tensor = &subject->layer.output;
    bool holds = true;

    for (int64_t n = 0; n < subject->layer.batch; n++)
        for (int64_t c = 0; c < tensor->stored_channels; c++)
            for (int64_t p = 0; p < tensor->n_positions; p++) {
                float *output = &subject->output[element(tensor, n, c, p)];

                holds = holds && (c < tensor->channels ? is_right(subject, n, c, p) : *output == 0);
                *output = UNTOUCHED;
            }
    for (int64_t i = 0; i < subject->n_output; i++)
        holds = holds && subject->output[i] == UNTOUCHED;
    return holds;
}

/* Runs the plan with weights and workspace at fresh addresses. */
static bool run(struct subject *subject, const struct vbs_coded_plan *plan)
{
    size_t n_bytes, n_workspace = (size_t)vbs_coded_plan_workspace(plan);
    const void *bytes = vbs_coded_bytes(subject->coded, &n_bytes);
    size_t n_whole = (n_bytes + 63) / 64 * 64 + 64;
    char *weights = aligned_alloc(64, n_whole);
    unsigned char *workspace = aligned_alloc(64, n_workspace + GUARD);
    bool holds = n_workspace % 64 == 0;

    memcpy(weights, bytes, n_bytes);
    memset(workspace, 0xff, n_workspace + GUARD);
    for (int64_t i = 0; i < subject->n_output; i++)
        subject->output[i] = UNTOUCHED;
    holds = vbs_coded_plan_run(plan, weights, subject->input, subject->output, workspace) && holds;
    for (size_t i = 0; i < GUARD; i++)
        holds = holds && workspace[n_workspace + i] == 0xff;
    free(weights);
    free(workspace);
    return holds && is_layer(subject);
}

static void describe(const struct subject *subject)
{
    const struct vbs_coded_layer *layer = &subject->layer;
    struct vbs_coded_shape shape;

    vbs_coded_describe(subject->coded, &shape);
    printf("# wrong: method %d, %s, %lld x %lld, blocks %lld x %lld, batch %d, groups %lld, "
           "threads %d\n",
           (int)layer->method, vbs_coding_name(shape.coding), (long long)shape.n_rows,
           (long long)shape.n_columns, (long long)shape.block_rows, (long long)shape.block_columns,
           layer->batch, (long long)layer->groups, layer->threads);
    for (int d = 0; d < layer->n_spatial; d++)
        printf("#   in %lld, out %lld, window %lld, stride %lld, dilation %lld, padding %lld\n",
               (long long)layer->in_size[d], (long long)layer->out_size[d],
               (long long)layer->kernel[d], (long long)layer->stride[d],
               (long long)layer->dilation[d], (long long)layer->pad_low[d]);
}

static void test_layers(struct subject *subject, const struct vbs_coded_processor *processor,
                        const char *name, int n_tries)
{
    int n_wrong = 0;

    for (int i = 0; i < 2 * n_tries; i++) {
        struct vbs_coded_plan *plan = NULL;
        bool holds;

        subject->few_samples = i >= n_tries;
        holds = make_subject(subject) &&
                vbs_coded_plan_for(NULL, &subject->layer, processor, &plan) == VBS_OK &&
                run(subject, plan);

        if (!holds)
            describe(subject);
        n_wrong += !holds;
        vbs_coded_plan_free(plan);
        subject_clear(subject);
    }
    subject->few_samples = false;
    ok(n_wrong == 0, "layers from coded weights, %s (%d of %d)", name, 2 * n_tries - n_wrong,
       2 * n_tries);
}

static void test_refusals(struct subject *subject)
{
    struct vbs_ctx ctx = {0};
    struct vbs_coded_plan *plan = NULL;
    struct vbs_coded_layer layer;

    do {
        subject_clear(subject);
        if (!make_subject(subject))
            return;
    } while (subject->layer.n_spatial != 2);
    layer = subject->layer;
    layer.input.channels += layer.groups;
    layer.input.stored_channels += layer.groups;
    is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_USAGE, "other channels are refused");
    layer = subject->layer;
    layer.stride[1] = 0;
    is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_USAGE, "a stride of 0 is refused");
    layer = subject->layer;
    layer.out_size[0]++;
    is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_USAGE, "other positions are refused");
    layer = subject->layer;
    layer.method = VBS_CODED_DENSE;
    layer.gemm = NULL;
    is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_USAGE, "no product of matrices is refused");
    ok(!plan, "a refusal leaves the plan untouched");
    layer.gemm = failing_gemm;
    is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_OK, "a plan whose product will fail");
    subject->layer = layer;
    ok(!run(subject, plan), "a failing product makes the run fail");
    vbs_coded_plan_free(plan);
    subject_clear(subject);
    vbs_coded_plan_free(NULL);
}

static void test_wide_indices(struct subject *subject)
{
    const struct vbs_coding_options options = {VBS_CODING_BYTES, 8, 4, 4};
    struct vbs_coded_plan *plan = NULL;
    float weights[4] = {1, 0, 2, 3};
    struct vbs_ctx ctx = {0};
    struct vbs_coded_layer layer = {.batch = 1,
                                    .groups = 1,
                                    .threads = 1,
                                    .input = {2, 2, 1, 2, 0, 1, 1, 2},
                                    .output = {2, 2, 1, 2, 0, 1, 1, 2}};

    if (vbs_quantise(NULL, weights, 2, 2, 9, &subject->quantised) == VBS_OK &&
        vbs_code(NULL, &subject->quantised, &options, &subject->coded) == VBS_OK) {
        layer.coded = subject->coded;
        is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_UNSUPPORTED,
               "entries with indices of 9 bits are refused");
    }
    subject_clear(subject);
}

/* Plans of an inner product of 48 x 64 weights in blocks of 16 x 32, for some samples. */
static struct vbs_coded_plan *product_plan(struct subject *subject, enum vbs_coding coding,
                                           int batch, int threads)
{
    enum { ROWS = 48, COLUMNS = 64 };
    const struct vbs_coding_options options = {coding, 4, 16, 32};
    struct vbs_coded_plan *plan = NULL;
    float weights[ROWS * COLUMNS];
    struct vbs_coded_layer layer = {.batch = batch,
                                    .groups = 1,
                                    .threads = threads,
                                    .input = {COLUMNS, COLUMNS, 1, COLUMNS, 0, 1, 1, COLUMNS},
                                    .output = {ROWS, ROWS, 1, ROWS, 0, 1, 1, ROWS}};

    for (int i = 0; i < ROWS * COLUMNS; i++)
        weights[i] = below(subject, 3) ? 0 : random_float(subject);
    if (vbs_quantise(NULL, weights, ROWS, COLUMNS, 5, &subject->quantised) == VBS_OK &&
        vbs_code(NULL, &subject->quantised, &options, &subject->coded) == VBS_OK) {
        layer.coded = subject->coded;
        if (vbs_coded_plan_for(NULL, &layer, &vbs_coded_plain, &plan) != VBS_OK)
            plan = NULL;
    }
    return plan;
}

/* Few samples are multiplied when their entries are decoded, without memory for entries. */
static void test_fused(struct subject *subject)
{
    const int most = VBS_CODED_MOST_FUSED * vbs_coded_plain.lanes;
    struct {
        enum vbs_coding coding;
        int batch, threads;
        bool fuses, decodes;
    } cases[] = {{VBS_CODING_JOINT, 1, 1, true, false},
                 {VBS_CODING_JOINT, most, 8, true, false},
                 {VBS_CODING_JOINT, most + 1, 1, false, true},
                 {VBS_CODING_COMP, 1, 1, false, true},
                 {VBS_CODING_BYTES, 1, 1, false, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vbs_coded_plan *plan =
            product_plan(subject, cases[i].coding, cases[i].batch, cases[i].threads);
        const struct vbs_coded_memory *memory = plan ? &plan->memory : NULL;

        ok(plan && plan->fuses == cases[i].fuses && plan->decodes == cases[i].decodes,
           "%s, %d samples: %s", vbs_coding_name(cases[i].coding), cases[i].batch,
           cases[i].fuses     ? "multiplied when decoded"
           : cases[i].decodes ? "decoded"
                              : "in place");
        ok(plan && (memory->sums > memory->entries) == cases[i].decodes &&
               (memory->columns > memory->offsets) == cases[i].decodes,
           "entries and offsets take memory only where they are decoded");
        ok(plan && (!cases[i].fuses || plan->granule == 16), "parts have whole blocks");
        vbs_coded_plan_free(plan);
        subject_clear(subject);
    }
}

/* Blocks of one row each, so wide that no slab of many samples is small: several samples share each
 * decoding all the same. */
static void test_whole_rows(struct subject *subject)
{
    enum { ROWS = 3, COLUMNS = 40000, BATCH = 11 };
    float *weights = calloc(ROWS * COLUMNS, sizeof *weights);

    for (int i = 0; i < ROWS * COLUMNS; i += 1 + below(subject, 60))
        weights[i] = random_float(subject);
    for (int coding = 0; coding < VBS_N_CODINGS; coding++) {
        const struct vbs_coding_options options = {(enum vbs_coding)coding, 5, 1, COLUMNS};
        struct vbs_coded_plan *plan = NULL;
        struct vbs_coded_layer *layer = &subject->layer;

        *layer = (struct vbs_coded_layer){.batch = BATCH,
                                          .groups = 1,
                                          .threads = 2,
                                          .input = {COLUMNS, COLUMNS, 1, COLUMNS, 0, 1, 1, COLUMNS},
                                          .output = {ROWS, ROWS, 1, ROWS, 0, 1, 1, ROWS}};
        subject->window = 1;
        subject->n_input = BATCH * COLUMNS;
        subject->n_output = BATCH * ROWS;
        subject->input = random_floats(subject, subject->n_input);
        subject->output = random_floats(subject, subject->n_output);
        if (vbs_quantise(NULL, weights, ROWS, COLUMNS, 4, &subject->quantised) == VBS_OK &&
            vbs_code(NULL, &subject->quantised, &options, &subject->coded) == VBS_OK) {
            layer->coded = subject->coded;
            if (vbs_coded_plan_new(NULL, layer, &plan) != VBS_OK)
                plan = NULL;
        }
        ok(plan && plan->geometry.side > 1 && run(subject, plan), "%s, whole rows",
           vbs_coding_name((enum vbs_coding)coding));
        vbs_coded_plan_free(plan);
        subject_clear(subject);
    }
    free(weights);
}

/* Taps so far apart that offsets into a plane do not fit 32 bits. */
static void test_huge_window(struct subject *subject)
{
    enum { SIZE = 64, APART = 1 << 14 };
    const struct vbs_coding_options options = {VBS_CODING_BYTES, 8, 1, SIZE * SIZE};
    const struct vbs_coded_tensor one = {1, 1, 1, 1, 1, 1, 1, 1};
    struct vbs_coded_plan *plan = NULL;
    float *weights = calloc(SIZE * SIZE, sizeof *weights);
    struct vbs_ctx ctx = {0};
    struct vbs_coded_layer layer = {.batch = 1,
                                    .groups = 1,
                                    .threads = 1,
                                    .input = one,
                                    .output = one,
                                    .n_spatial = 2,
                                    .in_size = {1, 1},
                                    .out_size = {1, 1},
                                    .kernel = {SIZE, SIZE},
                                    .stride = {1, 1},
                                    .dilation = {APART, APART}};

    if (vbs_quantise(NULL, weights, 1, SIZE * SIZE, 1, &subject->quantised) == VBS_OK &&
        vbs_code(NULL, &subject->quantised, &options, &subject->coded) == VBS_OK) {
        layer.coded = subject->coded;
        is_int(vbs_coded_plan_new(&ctx, &layer, &plan), VBS_UNSUPPORTED,
               "a window that reaches too far is refused");
    }
    free(weights);
    subject_clear(subject);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    int n_tries = argc > 2 ? atoi(argv[2]) : trials_some(N_TRIES);
    struct subject subject = {.rng = gsl_rng_alloc(gsl_rng_taus2)};

    printf("# seed %lu\n", seed);
    gsl_rng_set(subject.rng, seed);
    test_layers(&subject, vbs_coded_choose_processor(), "as this processor computes them", n_tries);
    if (vbs_coded_choose_processor() != &vbs_coded_plain)
        test_layers(&subject, &vbs_coded_plain, "as any processor computes them", n_tries);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        test_layers(&subject, &vbs_coded_avx2, "with AVX2", n_tries);
#endif
    test_refusals(&subject);
    test_wide_indices(&subject);
    test_huge_window(&subject);
    test_fused(&subject);
    test_whole_rows(&subject);
    gsl_rng_free(subject.rng);
    return done_testing();
}
