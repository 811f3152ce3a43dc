/*
 * Bits of a distance that coding chooses: random matrices have no fewer bytes with any other number
 * of bits, in any form, and coding anew chooses the same. Arguments: number of matrices, seed.
 */
#include "support/coded_subject.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       2017
#define N_MATRICES 150

#define PROPERTY_LIST(X)                                                                           \
    X(CODED, "a quantised matrix is coded with bits that coding chooses")                          \
    X(SMALLEST, "it has no fewer bytes with other bits")                                           \
    X(LARGEST, "nor as many with more bits")                                                       \
    X(SAME, "coding with these bits gives the same bytes")                                         \
    X(RECODED, "so does coding another form of the matrix anew")                                   \
    X(REFUSED, "a joint code of more bits than it may have is refused")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

static bool make_matrix(struct coded_subject *subject)
{
    static const double DENSITIES[] = {0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.6, 1};
    struct vbs_quantised *quantised = &subject->quantised;
    int64_t n;

    subject->density = DENSITIES[coded_below(subject, 8)];
    *quantised = (struct vbs_quantised){.n_rows = 1 + coded_below(subject, 60),
                                        .n_columns = 1 + coded_below(subject, 300),
                                        .bits = subject->number % 8 ? 1 + coded_below(subject, 9)
                                                                    : 9 + coded_below(subject, 8)};
    quantised->n_values = 1 + coded_below(subject, 1 << quantised->bits);
    n = quantised->n_rows * quantised->n_columns;
    quantised->codebook = calloc((size_t)quantised->n_values, sizeof *quantised->codebook);
    quantised->indices = calloc((size_t)n, sizeof *quantised->indices);
    if (!quantised->codebook || !quantised->indices)
        return false;
    for (int i = 1; i < quantised->n_values; i++)
        quantised->codebook[i] = (float)i;
    for (int64_t i = 0; i < n && quantised->n_values > 1; i++)
        if (gsl_rng_uniform(subject->rng) < subject->density)
            quantised->indices[i] =
                (uint16_t)(1 +
                           coded_below(subject, 1 + coded_below(subject, quantised->n_values - 1)));
    subject->options.block_rows = 1 + coded_below(subject, 64);
    subject->options.block_columns = 1 + coded_below(subject, 300);
    return true;
}

static size_t bytes_of(const struct vbs_coded *coded)
{
    size_t n;

    (void)vbs_coded_bytes(coded, &n);
    return n;
}

/* Compares coded weights with those of each number of bits. */
static void compare(struct coded_subject *subject, const struct vbs_coded *chosen)
{
    struct vbs_coding_options options = subject->options;
    struct vbs_coded_shape shape;
    int most = options.coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_BITS - subject->quantised.bits
                                                  : VBS_MAX_INDEX_BITS;

    vbs_coded_describe(chosen, &shape);
    for (int k = 1; k <= most && k <= VBS_MAX_INDEX_BITS; k++) {
        struct vbs_coded *coded = NULL;

        options.index_bits = k;
        if (vbs_code(NULL, &subject->quantised, &options, &coded) != VBS_OK) {
            tally_check(&subject->tally, SMALLEST, false);
            continue;
        }
        tally_check(&subject->tally, SMALLEST, bytes_of(chosen) <= bytes_of(coded));
        if (k > shape.index_bits)
            tally_check(&subject->tally, LARGEST, bytes_of(chosen) < bytes_of(coded));
        if (k == shape.index_bits)
            tally_check(&subject->tally, SAME, coded_is_same(chosen, coded));
        vbs_coded_free(coded);
    }
}

static void check_form(struct coded_subject *subject, enum vbs_coding coding)
{
    struct vbs_coding_options other = {VBS_CODING_BYTES, 8, 7, 50};
    struct vbs_coded *chosen = NULL, *first = NULL, *recoded = NULL;
    struct vbs_ctx ctx = {0};

    subject->options.coding = coding;
    subject->options.index_bits = 0;
    if (coding == VBS_CODING_JOINT && subject->quantised.bits >= VBS_MAX_PAIR_BITS) {
        tally_check(&subject->tally, REFUSED,
                    vbs_code(&ctx, &subject->quantised, &subject->options, &chosen) == VBS_USAGE &&
                        ctx.detail[0] && !chosen);
        return;
    }
    tally_check(&subject->tally, CODED,
                vbs_code(NULL, &subject->quantised, &subject->options, &chosen) == VBS_OK);
    if (!chosen)
        return;
    compare(subject, chosen);
    tally_check(&subject->tally, RECODED,
                vbs_code(NULL, &subject->quantised, &other, &first) == VBS_OK &&
                    vbs_coded_recode(NULL, first, &subject->options, &recoded) == VBS_OK &&
                    coded_is_same(recoded, chosen));
    vbs_coded_free(recoded);
    vbs_coded_free(first);
    vbs_coded_free(chosen);
}

int main(int argc, char **argv)
{
    struct coded_subject subject = {.number = 0};
    struct trials trials = trials_of(argc, argv, N_MATRICES, SEED, "matrices");

    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, coded_describe, &subject);
    subject.rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(subject.rng, trials.seed);
    for (; subject.number < trials.n; subject.number++) {
        if (make_matrix(&subject))
            for (int c = 0; c < VBS_N_CODINGS; c++)
                check_form(&subject, (enum vbs_coding)c);
        vbs_quantised_clear(&subject.quantised);
    }
    tally_report(&subject.tally, "bits of a distance");
    gsl_rng_free(subject.rng);
    return done_testing();
}
