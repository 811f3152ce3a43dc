/*
 * Length-limited Huffman codes: no code of random counts is better within the limit (all are
 * tried), the codes are prefixes of nothing else, and tables decode what was written. Argument:
 * seed.
 */
#include "coded/bits.h"
#include "coded/huffman.h"
#include "support/tap.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stdlib.h>

#define SEED      1952
#define N_CODES   400
#define FEW       6
#define MANY      700
#define FEW_BITS  5
#define N_SYMBOLS 2000 /* written */

/* The least cost of lengths for counts[at..n-1] that leave `left` of the 2^max_bits leaves. */
static uint64_t least_cost(const uint64_t *counts, int n, int at, int max_bits, int left)
{
    uint64_t least = UINT64_MAX;

    if (at == n)
        return 0;
    if (counts[at] == 0)
        return least_cost(counts, n, at + 1, max_bits, left);
    for (int bits = 1; bits <= max_bits; bits++) {
        int taken = 1 << (max_bits - bits);
        uint64_t rest =
            taken <= left ? least_cost(counts, n, at + 1, max_bits, left - taken) : UINT64_MAX;

        if (rest != UINT64_MAX && rest + (uint64_t)bits * counts[at] < least)
            least = rest + (uint64_t)bits * counts[at];
    }
    return least;
}

static uint64_t cost_of(const uint64_t *counts, const uint8_t *lengths, int n)
{
    uint64_t cost = 0;

    for (int i = 0; i < n; i++)
        cost += lengths[i] * counts[i];
    return cost;
}

static int fill(gsl_rng *rng, uint64_t *counts, int n)
{
    int n_used = 0;

    for (int i = 0; i < n; i++) {
        counts[i] = gsl_rng_uniform_int(rng, 4) == 0
                        ? 0
                        : gsl_rng_uniform_int(rng, 1UL << gsl_rng_uniform_int(rng, 20));
        n_used += counts[i] > 0;
    }
    return n_used;
}

static void test_best(gsl_rng *rng)
{
    int n_wrong = 0, n_refused = 0, n_wrongly_refused = 0;

    for (int i = 0; i < N_CODES; i++) {
        uint64_t counts[FEW];
        uint8_t lengths[FEW];
        int n = 1 + (int)gsl_rng_uniform_int(rng, FEW), n_used = fill(rng, counts, n);
        int max_bits = 1 + (int)gsl_rng_uniform_int(rng, FEW_BITS);
        enum vbs_status status = vbs_huffman_lengths(NULL, counts, n, max_bits, lengths);

        if (status != VBS_OK) {
            n_refused++;
            n_wrongly_refused += n_used <= 1 << max_bits;
            continue;
        }
        n_wrong += !vbs_huffman_is_complete(lengths, n, max_bits) ||
                   cost_of(counts, lengths, n) != least_cost(counts, n, 0, max_bits, 1 << max_bits);
    }
    is_int(n_wrong, 0, "no code within the limit takes fewer bits");
    ok(n_refused > 0 && n_wrongly_refused == 0, "more symbols than codes are refused (%d times)",
       n_refused);
}

/* Writes random symbols that have a code, and decodes them. */
static bool round_trip(gsl_rng *rng, const uint8_t *lengths, int n, int max_bits)
{
    uint32_t codes[MANY];
    uint16_t written[N_SYMBOLS];
    uint8_t *bytes = calloc(N_SYMBOLS * 4 + VBS_BITS_SLACK, 1);
    struct vbs_huffman_hit *hits = calloc((size_t)1 << max_bits, sizeof *hits);
    struct vbs_bit_writer writer = {.bytes = bytes};
    uint64_t at = 0;
    bool holds = bytes && hits;

    vbs_huffman_codes(lengths, n, codes);
    for (int i = 0; holds && i < N_SYMBOLS; i++) {
        do
            written[i] = (uint16_t)gsl_rng_uniform_int(rng, (unsigned long)n);
        while (lengths[written[i]] == 0);
        vbs_bits_put(&writer, codes[written[i]], lengths[written[i]]);
    }
    vbs_huffman_table(lengths, n, max_bits, hits);
    for (int i = 0; holds && i < N_SYMBOLS; i++) {
        struct vbs_huffman_hit hit = hits[vbs_bits_at(bytes, at) & ((UINT64_C(1) << max_bits) - 1)];

        holds = hit.symbol == written[i] && hit.n_bits == lengths[written[i]];
        at += hit.n_bits;
    }
    free(bytes);
    free(hits);
    return holds && at == writer.at;
}

static void test_round_trips(gsl_rng *rng)
{
    int n_wrong = 0, n_tried = 0;

    for (int i = 0; i < N_CODES / 8; i++) {
        uint64_t counts[MANY];
        uint8_t lengths[MANY];
        int n = 2 + (int)gsl_rng_uniform_int(rng, MANY - 2), max_bits = 10 + i % 9;

        if (fill(rng, counts, n) == 0)
            continue;
        n_tried++;
        n_wrong += vbs_huffman_lengths(NULL, counts, n, max_bits, lengths) != VBS_OK ||
                   !vbs_huffman_is_complete(lengths, n, max_bits) ||
                   !round_trip(rng, lengths, n, max_bits);
    }
    ok(n_tried > 0 && n_wrong == 0, "what is written is decoded (%d codes)", n_tried);
}

static void test_completeness(void)
{
    ok(vbs_huffman_is_complete((uint8_t[]){0, 1, 0}, 3, 4), "one symbol has a code of one bit");
    ok(!vbs_huffman_is_complete((uint8_t[]){0, 2, 0}, 3, 4), "  and not of two");
    ok(vbs_huffman_is_complete((uint8_t[]){0, 0}, 2, 4), "no symbol needs no code");
    ok(vbs_huffman_is_complete((uint8_t[]){1, 2, 2}, 3, 2), "lengths 1, 2, 2 are complete");
    ok(!vbs_huffman_is_complete((uint8_t[]){1, 2, 3}, 3, 3), "  1, 2, 3 leave a gap");
    ok(!vbs_huffman_is_complete((uint8_t[]){1, 1, 2}, 3, 3), "  1, 1, 2 are too many");
    ok(!vbs_huffman_is_complete((uint8_t[]){1, 2, 2}, 3, 1), "  and no code is above the limit");
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    test_best(rng);
    test_round_trips(rng);
    test_completeness();
    gsl_rng_free(rng);
    return done_testing();
}
