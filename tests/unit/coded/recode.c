/*
 * Coded weights that are coded anew are, to the byte, what coding the quantised matrix gives: for
 * all pairs of forms, and for blocks that are larger than the matrix or divide each other or do
 * not. The quantised matrix is never in memory. Arguments: number of matrices, seed.
 */
#include "support/coded_subject.h"
#include "support/trials.h"

#include <malloc.h>
#include <stdlib.h>

#define SEED       1952
#define N_MATRICES 400

#define PROPERTY_LIST(X)                                                                           \
    X(FIRST, "a quantised matrix is coded")                                                        \
    X(RECODED, "the coded weights are coded anew")                                                 \
    X(SAME, "that gives the same bytes as coding the quantised matrix")                            \
    X(BACK, "coding it back gives the first bytes")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

/* ---- memory ---- */

static size_t live_bytes, peak_bytes;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static void *note(void *memory)
{
    live_bytes += memory ? malloc_usable_size(memory) : 0;
    peak_bytes = live_bytes > peak_bytes ? live_bytes : peak_bytes;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return note(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
    live_bytes -= memory ? malloc_usable_size(memory) : 0;
    return note(__real_realloc(memory, size));
}

void __wrap_free(void *memory)
{
    live_bytes -= memory ? malloc_usable_size(memory) : 0;
    __real_free(memory);
}

/* ---- random matrices ---- */

struct subject {
    struct tally tally;
    gsl_rng *rng;
    int number;
    struct vbs_quantised quantised;
    struct vbs_coding_options first, second;
};

static void describe(const void *self)
{
    const struct subject *subject = self;
    const struct vbs_coding_options *first = &subject->first, *second = &subject->second;

    printf("matrix %d, %" PRId64 " x %" PRId64 ", %d bits, %s with %d bits in blocks of %" PRId64
           " x %" PRId64 ", then %s with %d in %" PRId64 " x %" PRId64,
           subject->number, subject->quantised.n_rows, subject->quantised.n_columns,
           subject->quantised.bits, vbs_coding_name(first->coding), first->index_bits,
           first->block_rows, first->block_columns, vbs_coding_name(second->coding),
           second->index_bits, second->block_rows, second->block_columns);
}

static int below(struct subject *subject, int n)
{
    return (int)gsl_rng_uniform_int(subject->rng, (unsigned long)n);
}

static void fill(struct subject *subject, double density)
{
    struct vbs_quantised *quantised = &subject->quantised;
    int64_t n = quantised->n_rows * quantised->n_columns;

    quantised->codebook = calloc((size_t)quantised->n_values, sizeof *quantised->codebook);
    quantised->indices = calloc((size_t)n, sizeof *quantised->indices);
    for (int i = 1; i < quantised->n_values; i++)
        quantised->codebook[i] = (float)i;
    for (int64_t i = 0; i < n && quantised->n_values > 1; i++)
        if (gsl_rng_uniform(subject->rng) < density)
            quantised->indices[i] = (uint16_t)(1 + below(subject, quantised->n_values - 1));
}

static struct vbs_coding_options random_options(struct subject *subject, enum vbs_coding coding)
{
    const struct vbs_quantised *quantised = &subject->quantised;
    int most =
        coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_BITS - quantised->bits : VBS_MAX_INDEX_BITS;

    return (struct vbs_coding_options){
        .coding = coding,
        .index_bits = 1 + below(subject, most < VBS_MAX_INDEX_BITS ? most : VBS_MAX_INDEX_BITS),
        .block_rows = 1 + below(subject, 2 * (int)quantised->n_rows),
        .block_columns = 1 + below(subject, 2 * (int)quantised->n_columns)};
}

static void make_matrix(struct subject *subject)
{
    static const double DENSITIES[] = {0, 0.01, 0.1, 0.4, 1};
    enum vbs_coding first = (enum vbs_coding)(subject->number % VBS_N_CODINGS);
    enum vbs_coding second = (enum vbs_coding)(subject->number / VBS_N_CODINGS % VBS_N_CODINGS);
    bool is_joint = first == VBS_CODING_JOINT || second == VBS_CODING_JOINT;

    subject->quantised =
        (struct vbs_quantised){.n_rows = 1 + below(subject, below(subject, 4) ? 40 : 1),
                               .n_columns = 1 + below(subject, below(subject, 4) ? 300 : 1),
                               .bits = 1 + below(subject, is_joint ? 9 : 11)};
    subject->quantised.n_values = 1 + below(subject, 1 << subject->quantised.bits);
    fill(subject, DENSITIES[below(subject, 5)]);
    subject->first = random_options(subject, first);
    subject->second = random_options(subject, second);
}

static void check_matrix(struct subject *subject)
{
    struct vbs_coded *first = NULL, *second = NULL, *recoded = NULL, *back = NULL;
    struct tally *tally = &subject->tally;

    tally_check(tally, FIRST,
                vbs_code(NULL, &subject->quantised, &subject->first, &first) == VBS_OK &&
                    vbs_code(NULL, &subject->quantised, &subject->second, &second) == VBS_OK);
    tally_check(tally, RECODED,
                first && vbs_coded_recode(NULL, first, &subject->second, &recoded) == VBS_OK);
    tally_check(tally, SAME, recoded && second && coded_is_same(recoded, second));
    tally_check(tally, BACK,
                recoded && vbs_coded_recode(NULL, recoded, &subject->first, &back) == VBS_OK &&
                    coded_is_same(back, first));
    vbs_coded_free(first);
    vbs_coded_free(second);
    vbs_coded_free(recoded);
    vbs_coded_free(back);
}

/* ---- one large matrix ---- */

/* The bytes beside both coded matrices stay below those of rows of blocks, and some tables. */
static void test_memory(struct subject *subject, enum vbs_coding from, enum vbs_coding to)
{
    const struct vbs_coding_options first = {from, 4, 24, 100}, second = {to, 5, 32, 128};
    struct vbs_coded *coded = NULL, *recoded = NULL;
    size_t most = 4 * 32 * 2048 * sizeof(uint16_t) + 400000, n_matrix = 1024 * 2048 * 2, before;
    struct vbs_coded_shape shape = {0};
    bool holds;

    subject->quantised =
        (struct vbs_quantised){.n_rows = 1024, .n_columns = 2048, .bits = 5, .n_values = 32};
    fill(subject, 0.05);
    holds = vbs_code(NULL, &subject->quantised, &first, &coded) == VBS_OK;
    vbs_quantised_clear(&subject->quantised);
    before = peak_bytes = live_bytes;
    holds = holds && vbs_coded_recode(NULL, coded, &second, &recoded) == VBS_OK;
    if (holds)
        vbs_coded_describe(recoded, &shape);
    ok(holds && peak_bytes - before < shape.resident_bytes + most && most < n_matrix / 2,
       "%s to %s takes %zu bytes, where the coded weights are %zu and the matrix %zu",
       vbs_coding_name(from), vbs_coding_name(to), peak_bytes - before, shape.resident_bytes,
       n_matrix);
    vbs_coded_free(coded);
    vbs_coded_free(recoded);
}

static void test_refusals(struct subject *subject)
{
    struct vbs_coded *coded = NULL, *recoded = (void *)subject;
    volatile sig_atomic_t stop = 1;
    struct vbs_coding_options options = {VBS_CODING_BYTES, 4, 3, 3};
    struct vbs_ctx ctx = {0}, stopped = {.cancel = &stop};

    subject->quantised =
        (struct vbs_quantised){.n_rows = 5, .n_columns = 5, .bits = 8, .n_values = 200};
    fill(subject, 0.5);
    if (vbs_code(NULL, &subject->quantised, &options, &coded) == VBS_OK) {
        options.coding = VBS_CODING_JOINT;
        is_int(vbs_coded_recode(&stopped, coded, &options, &recoded), VBS_INTERRUPTED,
               "coding anew can be stopped");
        options.index_bits = 6;
        is_int(vbs_coded_recode(&ctx, coded, &options, &recoded), VBS_USAGE,
               "too many bits for pairs are refused");
        options = (struct vbs_coding_options){VBS_CODING_COMP, 4, 0, 3};
        is_int(vbs_coded_recode(&ctx, coded, &options, &recoded), VBS_USAGE,
               "blocks without rows are refused");
        ok(recoded == (void *)subject, "  and the output is untouched");
    }
    vbs_coded_free(coded);
    vbs_quantised_clear(&subject->quantised);
}

int main(int argc, char **argv)
{
    struct subject subject = {0};
    struct trials trials = trials_of(argc, argv, N_MATRICES, SEED, "matrices");

    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, &subject);
    subject.rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(subject.rng, trials.seed);
    for (subject.number = 0; subject.number < trials.n; subject.number++) {
        make_matrix(&subject);
        check_matrix(&subject);
        vbs_quantised_clear(&subject.quantised);
    }
    tally_report(&subject.tally, "coding anew");
    for (int from = 0; from < VBS_N_CODINGS; from++)
        test_memory(&subject, (enum vbs_coding)from, (enum vbs_coding)((from + 1) % VBS_N_CODINGS));
    test_refusals(&subject);
    gsl_rng_free(subject.rng);
    return done_testing();
}
