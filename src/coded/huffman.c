#include "coded/huffman.h"

#include "base/fail.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct leaf {
    uint64_t count;
    int symbol;
};

/* The lists of package-merge, of which only what the last step reads is kept. */
struct packages {
    int n_leaves, max_bits;
    struct leaf *leaves; /* [n_leaves] by count */
    uint64_t *weights;   /* [2 n_leaves] of the list at hand */
    uint64_t *merged;    /* [2 n_leaves] of the next list */
    bool *is_package;    /* [max_bits][2 n_leaves] whether an item of a list is a pair */
};

static int by_count(const void *a, const void *b)
{
    const struct leaf *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->symbol - y->symbol;
}

/* Merges the leaves with the pairs of the list at hand into the next list, and gives its number of
 * items. */
static int merge(struct packages *packages, int n, bool *is_package)
{
    int leaf = 0, pair = 0, n_pairs = n / 2, n_merged = 0;

    while (leaf < packages->n_leaves || pair < n_pairs) {
        uint64_t weight = pair < n_pairs
                              ? packages->weights[2 * pair] + packages->weights[2 * pair + 1]
                              : UINT64_MAX;
        bool takes_pair =
            leaf == packages->n_leaves || (pair < n_pairs && weight < packages->leaves[leaf].count);

        is_package[n_merged] = takes_pair;
        packages->merged[n_merged++] = takes_pair ? weight : packages->leaves[leaf].count;
        leaf += !takes_pair;
        pair += takes_pair;
    }
    return n_merged;
}

/* Makes all lists; then each list tells how many leaves of it are in the solution, and these are
 * the lightest. */
static void solve(struct packages *packages, uint8_t *lengths)
{
    size_t width = 2 * (size_t)packages->n_leaves;
    int n = packages->n_leaves, n_taken = 2 * (packages->n_leaves - 1);

    for (int i = 0; i < n; i++)
        packages->weights[i] = packages->leaves[i].count;
    for (int level = 1; level < packages->max_bits; level++) {
        uint64_t *merged = packages->merged;

        n = merge(packages, n, &packages->is_package[(size_t)level * width]);
        packages->merged = packages->weights;
        packages->weights = merged;
    }
    for (int level = packages->max_bits - 1; level >= 0; level--) {
        const bool *is_package = &packages->is_package[(size_t)level * width];
        int n_packages = 0;

        for (int i = 0; level > 0 && i < n_taken; i++)
            n_packages += is_package[i];
        for (int i = 0; i < n_taken - n_packages; i++)
            lengths[packages->leaves[i].symbol]++;
        n_taken = 2 * n_packages;
    }
}

static void packages_clear(struct packages *packages)
{
    free(packages->leaves);
    free(packages->weights);
    free(packages->merged);
    free(packages->is_package);
}

static enum vbs_status find_lengths(struct vbs_ctx *ctx, struct packages *packages,
                                    uint8_t *lengths)
{
    size_t width = 2 * (size_t)packages->n_leaves;

    packages->weights = malloc(width * sizeof *packages->weights);
    packages->merged = malloc(width * sizeof *packages->merged);
    packages->is_package = calloc(width * (size_t)packages->max_bits, 1);
    if (!packages->weights || !packages->merged || !packages->is_package)
        return vbs_no_memory(ctx);
    qsort(packages->leaves, (size_t)packages->n_leaves, sizeof *packages->leaves, by_count);
    solve(packages, lengths);
    return VBS_OK;
}

enum vbs_status vbs_huffman_lengths(struct vbs_ctx *ctx, const uint64_t *counts, int n,
                                    int max_bits, uint8_t *lengths)
{
    struct packages packages = {.max_bits = max_bits};
    enum vbs_status status = VBS_OK;

    packages.leaves = malloc(((size_t)n + 1) * sizeof *packages.leaves);
    if (!packages.leaves)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        if (counts[i] > 0)
            packages.leaves[packages.n_leaves++] = (struct leaf){counts[i], i};
    if (packages.n_leaves > 1 << max_bits) {
        status = vbs_fail(ctx, VBS_USAGE, "%d symbols have no codes of at most %d bits",
                          packages.n_leaves, max_bits);
        goto done;
    }
    for (int i = 0; i < n; i++)
        lengths[i] = 0;
    if (packages.n_leaves == 1)
        lengths[packages.leaves[0].symbol] = 1;
    if (packages.n_leaves > 1)
        status = find_lengths(ctx, &packages, lengths);
done:
    packages_clear(&packages);
    return status;
}

static uint32_t reversed(unsigned code, int n_bits)
{
    unsigned reversed = 0;

    for (int i = 0; i < n_bits; i++)
        reversed |= (code >> i & 1) << (n_bits - 1 - i);
    return reversed;
}

/* Finds the first code of each length, as a number whose first bit is the highest. */
static void first_codes(const uint8_t *lengths, int n, unsigned first[VBS_MAX_CODE_BITS + 1])
{
    unsigned counts[VBS_MAX_CODE_BITS + 1] = {0}, code = 0;

    for (int i = 0; i < n; i++)
        counts[lengths[i]]++;
    for (int bits = 1; bits <= VBS_MAX_CODE_BITS; bits++) {
        first[bits] = code;
        code = (code + counts[bits]) << 1;
    }
}

void vbs_huffman_codes(const uint8_t *lengths, int n, uint32_t *codes)
{
    unsigned next[VBS_MAX_CODE_BITS + 1];

    first_codes(lengths, n, next);
    for (int i = 0; i < n; i++)
        if (lengths[i] > 0)
            codes[i] = reversed(next[lengths[i]]++, lengths[i]);
}

int vbs_huffman_is_complete(const uint8_t *lengths, int n, int max_bits)
{
    uint64_t used = 0;
    int n_codes = 0, last = 0;

    for (int i = 0; i < n; i++) {
        if (lengths[i] > max_bits)
            return 0;
        if (lengths[i] > 0) {
            used += UINT64_C(1) << (max_bits - lengths[i]);
            last = lengths[i];
            n_codes++;
        }
    }
    return n_codes == 0 || (n_codes == 1 ? last == 1 : used == UINT64_C(1) << max_bits);
}

void vbs_huffman_table(const uint8_t *lengths, int n, int max_bits, struct vbs_huffman_hit *hits)
{
    unsigned next[VBS_MAX_CODE_BITS + 1];

    first_codes(lengths, n, next);
    memset(hits, 0, sizeof *hits << max_bits);
    for (int i = 0; i < n; i++)
        if (lengths[i] > 0)
            for (unsigned at = reversed(next[lengths[i]]++, lengths[i]); at < 1U << max_bits;
                 at += 1U << lengths[i])
                hits[at] = (struct vbs_huffman_hit){(uint16_t)i, lengths[i]};
}
