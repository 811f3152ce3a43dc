/*
 * Coded weights: random matrices of all forms are decoded to what they were quantised to, by the
 * program and by the reference, and so is what a reference coder makes of them; the edges; bytes
 * that are cut or changed are refused or decode within their block. Arguments: number of matrices,
 * seed.
 */
#include "reference/coded/decode.h"
#include "reference/coded/code.h"
#include "support/coded_subject.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       15
#define N_MATRICES 250
#define N_CHANGES  6     /* bytes that are changed, in each */
#define LARGE      65535 /* weights: changed bytes would take long */

#define PROPERTY_LIST(X)                                                                           \
    X(CODED, "a quantised matrix is coded")                                                        \
    X(DECODED, "its blocks decode to the quantised weights, to the bit")                           \
    X(REFERENCE, "so does the reference")                                                          \
    X(ENTRIES, "entries are those of relative indices with the zeros that fill distances")         \
    X(OPENED, "its bytes are opened again as what they were")                                      \
    X(WRITTEN, "so is what the reference codes, which decodes to the same weights")                \
    X(CUT, "bytes that are cut anywhere are refused")                                              \
    X(CHANGED, "bytes that are changed are refused, or decode within the matrix")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

static void check(struct coded_subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* Makes a matrix without weights, and a codebook. */
static bool make_empty(struct coded_subject *subject, int64_t n_rows, int64_t n_columns, int bits,
                       int n_values)
{
    struct vbs_quantised *quantised = &subject->quantised;

    *quantised = (struct vbs_quantised){
        .n_rows = n_rows, .n_columns = n_columns, .bits = bits, .n_values = n_values};
    quantised->codebook = calloc((size_t)n_values, sizeof *quantised->codebook);
    quantised->indices = calloc((size_t)(n_rows * n_columns), sizeof *quantised->indices);
    if (!quantised->codebook || !quantised->indices)
        return false;
    for (int i = 1; i < n_values; i++)
        quantised->codebook[i] = (float)(i - n_values - 1) * 0.25F;
    return true;
}

/* An index other than 0; the smaller ones are more frequent. */
static uint16_t random_index(struct coded_subject *subject)
{
    int n = subject->quantised.n_values - 1;

    return (uint16_t)(1 + coded_below(subject, 1 + coded_below(subject, n)));
}

/* Puts weights at distances about the largest that has an entry of its own, and its multiples. */
static void fill_spaced(struct coded_subject *subject)
{
    int64_t most = INT64_C(1) << subject->options.index_bits;
    int64_t n = subject->quantised.n_rows * subject->quantised.n_columns;

    for (int64_t i = -1; i < n;) {
        i += most * coded_below(subject, 4) + coded_below(subject, 3) - 1;
        if (i >= 0 && i < n)
            subject->quantised.indices[i] = random_index(subject);
        i += i < 0;
    }
}

/* Makes a matrix whose weights come alone or in runs, of few values or of many; some have a single
 * row or column. */
static bool make_matrix(struct coded_subject *subject)
{
    static const double DENSITIES[] = {0, 0.002, 0.04, 0.1, 0.3, 0.9, 1};
    struct vbs_quantised *quantised = &subject->quantised;
    bool is_joint;
    int bits;

    subject->options.coding = (enum vbs_coding)coded_below(subject, VBS_N_CODINGS);
    subject->options.index_bits = 1 + coded_below(subject, VBS_MAX_INDEX_BITS);
    subject->options.block_rows = 1 + coded_below(subject, 48);
    subject->options.block_columns = 1 + coded_below(subject, coded_below(subject, 2) ? 20 : 500);
    is_joint = subject->options.coding == VBS_CODING_JOINT;
    bits = 1 + coded_below(subject, is_joint                  ? VBS_MAX_PAIR_BITS - 8
                                    : coded_below(subject, 4) ? 8
                                                              : 16);
    subject->density = DENSITIES[coded_below(subject, 7)];
    if (!make_empty(subject, 1 + coded_below(subject, coded_below(subject, 8) ? 40 : 1),
                    1 + coded_below(subject, coded_below(subject, 8) ? 400 : 1), bits,
                    1 + coded_below(subject, 1 << bits)))
        return false;
    if (quantised->n_values == 1)
        return true;
    if (coded_below(subject, 6) == 0) {
        fill_spaced(subject);
        return true;
    }
    for (int64_t i = 0; i < quantised->n_rows * quantised->n_columns; i++)
        if (gsl_rng_uniform(subject->rng) < subject->density)
            quantised->indices[i] = random_index(subject);
    return true;
}

/* Makes a dense matrix of so many weights that is one block. */
static bool make_dense(struct coded_subject *subject, enum vbs_coding coding, int64_t n_rows,
                       int64_t n_columns)
{
    subject->density = 1;
    subject->options = (struct vbs_coding_options){coding, 1, n_rows + 1, n_columns + 1};
    if (!make_empty(subject, n_rows, n_columns, 2, 4))
        return false;
    for (int64_t i = 0; i < n_rows * n_columns; i++)
        subject->quantised.indices[i] = random_index(subject);
    return true;
}

/* Decodes block by block into dense. */
static void decode(const struct vbs_coded *coded, float *dense)
{
    struct vbs_coded_shape shape;
    float *block;

    vbs_coded_describe(coded, &shape);
    block = malloc((size_t)(shape.block_rows * shape.block_columns) * sizeof *block);
    for (int64_t b = 0; block && b < shape.n_block_rows * shape.n_block_columns; b++) {
        int64_t row = b / shape.n_block_columns * shape.block_rows;
        int64_t column = b % shape.n_block_columns * shape.block_columns;
        int64_t n_rows = shape.n_rows - row, n_columns = shape.n_columns - column;

        n_rows = n_rows < shape.block_rows ? n_rows : shape.block_rows;
        n_columns = n_columns < shape.block_columns ? n_columns : shape.block_columns;
        vbs_coded_block(coded, b, block);
        for (int64_t r = 0; r < n_rows; r++)
            memcpy(&dense[(row + r) * shape.n_columns + column], &block[r * n_columns],
                   (size_t)n_columns * sizeof *dense);
    }
    free(block);
}

static bool is_quantised(const struct vbs_quantised *quantised, const float *dense)
{
    for (int64_t i = 0; i < quantised->n_rows * quantised->n_columns; i++)
        if (dense[i] != quantised->codebook[quantised->indices[i]])
            return false;
    return true;
}

/* Counts the entries of one run of weights: each that is not 0, and one for each full distance
 * before it that leaves some. */
static int64_t entries_of(const struct vbs_quantised *quantised, const int64_t *at, int64_t n,
                          int64_t most)
{
    int64_t n_entries = 0, since = 0;

    for (int64_t i = 0; i < n; i++) {
        since++;
        if (quantised->indices[at[i]] == 0)
            continue;
        n_entries += (since + most - 1) / most;
        since = 0;
    }
    return n_entries;
}

/* Counts the entries of the matrix in its blocks, quarters or rows. */
static int64_t count_entries(const struct coded_subject *subject,
                             const struct vbs_coded_shape *shape)
{
    int64_t *at = malloc((size_t)(shape->block_rows * shape->block_columns) * sizeof *at);
    int64_t n_entries = 0;

    for (int64_t row = 0; at && row < shape->n_rows; row += shape->block_rows)
        for (int64_t column = 0; column < shape->n_columns; column += shape->block_columns) {
            int64_t n = 0, n_columns = 0, run;

            for (int64_t r = row; r < row + shape->block_rows && r < shape->n_rows; r++)
                for (int64_t c = column; c < column + shape->block_columns && c < shape->n_columns;
                     c++) {
                    at[n++] = r * shape->n_columns + c;
                    n_columns = c - column + 1;
                }
            run = shape->coding == VBS_CODING_COMP    ? n
                  : shape->coding == VBS_CODING_JOINT ? (n + 3) / 4
                                                      : n_columns;
            for (int64_t from = 0; from < n; from += run)
                n_entries += entries_of(
                    &subject->quantised, at + from, n - from < run ? n - from : run,
                    shape->coding == VBS_CODING_BYTES ? 256 : INT64_C(1) << shape->index_bits);
        }
    free(at);
    return n_entries;
}

/* Opens a copy of bytes that has another end or other bits; what is opened is decoded. */
static bool is_harmless(const uint8_t *bytes, size_t n_bytes, int64_t n_weights, bool *opened)
{
    uint8_t *copy = malloc(n_bytes + 1); /* exact, so that a sanitizer sees what is read behind */
    float *dense = malloc((size_t)n_weights * sizeof *dense);
    struct vbs_ctx ctx = {0};
    struct vbs_coded *coded = NULL;
    struct vbs_coded_shape shape;
    enum vbs_status status;

    memcpy(copy, bytes, n_bytes);
    status = vbs_coded_open(&ctx, copy, n_bytes, &coded);
    *opened = status == VBS_OK;
    if (status == VBS_OK) {
        vbs_coded_describe(coded, &shape);
        if (shape.n_rows * shape.n_columns <= n_weights)
            decode(coded, dense);
    }
    vbs_coded_free(coded);
    free(copy);
    free(dense);
    return status == VBS_OK ||
           ((status == VBS_FORMAT || status == VBS_UNSUPPORTED) && ctx.detail[0] != '\0');
}

static void check_hostile(struct coded_subject *subject, const struct vbs_coded *coded)
{
    int64_t n = subject->quantised.n_rows * subject->quantised.n_columns;
    size_t n_bytes;
    const uint8_t *bytes = vbs_coded_bytes(coded, &n_bytes);
    uint8_t *copy = malloc(n_bytes);
    bool opened;

    for (int i = 0; i < N_CHANGES; i++) {
        size_t cut = gsl_rng_uniform_int(subject->rng, n_bytes);
        size_t at = gsl_rng_uniform_int(subject->rng, i % 2 ? 64 : n_bytes);

        check(subject, CUT, is_harmless(bytes, cut, n, &opened) && !opened);
        memcpy(copy, bytes, n_bytes);
        copy[at] ^= (uint8_t)(1 << coded_below(subject, 8));
        check(subject, CHANGED, is_harmless(copy, n_bytes, n, &opened));
    }
    free(copy);
}

/* The reference codes the matrix with any number of bits of a code that its symbols can do with,
 * and the lengths of codes in either of their forms. */
static void check_written(struct coded_subject *subject, float *dense)
{
    const struct vbs_quantised *quantised = &subject->quantised;
    const struct vbs_coding_options *options = &subject->options;
    bool is_joint = options->coding == VBS_CODING_JOINT;
    struct reference_matrix matrix = {.coding = (int)options->coding,
                                      .bits = quantised->bits,
                                      .index_bits = options->index_bits,
                                      .n_values = quantised->n_values,
                                      .n_rows = quantised->n_rows,
                                      .n_columns = quantised->n_columns,
                                      .block_rows = options->block_rows,
                                      .block_columns = options->block_columns,
                                      .codebook = quantised->codebook,
                                      .indices = quantised->indices};
    int least = quantised->bits + (is_joint ? options->index_bits : 0);
    struct vbs_coded *coded = NULL;
    size_t n_bytes;
    uint8_t *bytes;

    least = least > options->index_bits ? least : options->index_bits;
    matrix.most_bits = least + coded_below(subject, (is_joint ? 14 : 18) - least + 1);
    matrix.all_lengths = matrix.most_bits <= 15 && coded_below(subject, 2);
    if (matrix.block_rows > matrix.n_rows)
        matrix.block_rows = matrix.n_rows;
    if (matrix.block_columns > matrix.n_columns)
        matrix.block_columns = matrix.n_columns;
    if (options->coding == VBS_CODING_BYTES && matrix.block_columns > 65535)
        matrix.block_columns = 65535;
    bytes = reference_code(&matrix, &n_bytes);
    check(subject, WRITTEN, vbs_coded_open(NULL, bytes, n_bytes, &coded) == VBS_OK);
    if (coded) {
        decode(coded, dense);
        check(subject, WRITTEN, is_quantised(quantised, dense));
    }
    vbs_coded_free(coded);
    free(bytes);
}

static void check_matrix(struct coded_subject *subject)
{
    int64_t n = subject->quantised.n_rows * subject->quantised.n_columns, n_entries = -1;
    float *dense = malloc((size_t)n * sizeof *dense);
    struct vbs_coded *coded = NULL, *again = NULL;
    struct vbs_coded_shape shape, same;
    const uint8_t *bytes;
    size_t n_bytes;

    check(subject, CODED, vbs_code(NULL, &subject->quantised, &subject->options, &coded) == VBS_OK);
    if (coded) {
        bytes = vbs_coded_bytes(coded, &n_bytes);
        vbs_coded_describe(coded, &shape);
        decode(coded, dense);
        check(subject, DECODED, is_quantised(&subject->quantised, dense));
        check(subject, REFERENCE,
              reference_decode(bytes, n_bytes, dense, &n_entries) &&
                  is_quantised(&subject->quantised, dense) && n_entries == shape.n_entries);
        check(subject, ENTRIES, shape.n_entries == count_entries(subject, &shape));
        check(subject, OPENED, vbs_coded_open(NULL, bytes, n_bytes, &again) == VBS_OK);
        if (again) {
            vbs_coded_describe(again, &same);
            check(subject, OPENED, memcmp(&shape, &same, sizeof shape) == 0);
        }
        if (n < LARGE)
            check_hostile(subject, coded);
        check_written(subject, dense);
    }
    vbs_coded_free(again);
    vbs_coded_free(coded);
    free(dense);
}

/* Blocks of about 65536 entries, where counts in 16 bits end. */
static void check_large(struct coded_subject *subject)
{
    static const int64_t SIZES[][2] = {{255, 257}, {256, 256}, {1, 65537}, {65537, 1}, {1, 65535}};

    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
        for (int c = 0; c < VBS_N_CODINGS; c++) {
            subject->number++;
            if (make_dense(subject, (enum vbs_coding)c, SIZES[i][0], SIZES[i][1]))
                check_matrix(subject);
            vbs_quantised_clear(&subject->quantised);
        }
}

/* The first value is +0, the others are finite and ascend. */
static void test_codebooks(void)
{
    static const float WRONG[][3] = {{-0.0F, 1, 2}, {1, 2, 3},        {0, 2, 1},  {0, 1, 1},
                                     {0, -1, 0},    {0, 1, INFINITY}, {0, 1, NAN}};
    const struct vbs_coding_options options = {VBS_CODING_JOINT, 4, 1, 1};
    uint16_t indices[] = {0, 1, 2};
    struct vbs_coded *coded = NULL;
    int n_refused = 0, n = sizeof WRONG / sizeof WRONG[0];

    for (int i = 0; i < n; i++) {
        float codebook[3];
        struct vbs_quantised quantised = {1, 3, 2, 3, codebook, indices};

        memcpy(codebook, WRONG[i], sizeof codebook);
        n_refused += vbs_code(NULL, &quantised, &options, &coded) == VBS_USAGE;
    }
    is_int(n_refused, n, "codebooks that are none are refused");
}

int main(int argc, char **argv)
{
    struct coded_subject subject = {0};
    struct trials trials = trials_of(argc, argv, N_MATRICES, SEED, "matrices");

    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, coded_describe, &subject);
    subject.rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(subject.rng, trials.seed);
    for (subject.number = 0; subject.number < trials.n; subject.number++) {
        if (make_matrix(&subject))
            check_matrix(&subject);
        vbs_quantised_clear(&subject.quantised);
    }
    check_large(&subject);
    gsl_rng_free(subject.rng);
    tally_report(&subject.tally, "coded weights");
    test_codebooks();
    return done_testing();
}
