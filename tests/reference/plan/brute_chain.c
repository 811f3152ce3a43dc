#include "reference/plan/brute_chain.h"

#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdlib.h>

static double opt(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                  int b, int64_t memory_bytes);

/* Gives the least time of a whole chain on b samples. */
static double whole(const struct brute_cutting *cutting, struct brute_chain *chain, int b,
                    int64_t memory_bytes)
{
    return opt(cutting, chain, 0, chain->n_items - 1, b, memory_bytes);
}

/* Gives the least time of item k on b samples at once: recurrence 3, and the special layer. */
static double step(const struct brute_cutting *cutting, struct brute_chain *chain, int k, int b,
                   int64_t memory_bytes)
{
    const struct brute_item *item = &chain->items[k];
    double time_us = 0;

    if (item->subchain)
        return whole(cutting, item->subchain, b, memory_bytes);
    if (item->layer)
        return brute_fastest_us(cutting->problem, item->layer, b,
                                memory_bytes - b * item->step_bytes);
    for (int branch = 0; branch < item->n_branches; branch++)
        time_us +=
            whole(cutting, &item->branches[branch], b, memory_bytes - b * item->reserved_bytes);
    return time_us;
}

/* Computes recurrence 1: some item k runs all b samples at once. */
static double pivots(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                     int b, int64_t memory_bytes)
{
    double best = HUGE_VAL;

    for (int k = i; k <= j; k++) {
        double time_us = step(cutting, chain, k, b, memory_bytes);

        if (time_us < best)
            time_us += opt(cutting, chain, i, k - 1, b, memory_bytes);
        if (time_us < best)
            time_us += opt(cutting, chain, k + 1, j, b, memory_bytes);
        best = fmin(best, time_us);
    }
    return best;
}

static double barriers(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                       int b, int64_t memory_bytes)
{
    double best = i == j ? step(cutting, chain, i, b, memory_bytes) : HUGE_VAL;

    for (int c = i; c < j; c++)
        best = fmin(best, opt(cutting, chain, i, c, b, memory_bytes) +
                              opt(cutting, chain, c + 1, j, b, memory_bytes));
    return best;
}

/* The first b1 samples pass while the others wait, then the others pass while these are done. */
static double splits(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                     int b, int64_t memory_bytes)
{
    double best = HUGE_VAL;

    for (int b1 = 1; b1 <= b; b1++) {
        int64_t left_bytes = memory_bytes - (b - b1) * chain->cut_bytes[i];
        double time_us;

        if (cutting->rule == BRUTE_PIVOTS)
            time_us = pivots(cutting, chain, i, j, b1, left_bytes);
        else if (b1 == b)
            time_us = barriers(cutting, chain, i, j, b, memory_bytes);
        else
            time_us = opt(cutting, chain, i, j, b1, left_bytes);
        if (time_us < best)
            best = fmin(best, time_us + opt(cutting, chain, i, j, b - b1,
                                            memory_bytes - b1 * chain->cut_bytes[j + 1]));
    }
    return best;
}

static double *memo_of(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                       int b, int64_t memory_bytes)
{
    size_t n = (size_t)chain->n_items, r = (size_t)cutting->problem->request;
    size_t n_bytes = (size_t)cutting->top_bytes + 1;

    if (!chain->memo) {
        chain->memo = brute_alloc(n * n * r * n_bytes, sizeof *chain->memo);
        for (size_t c = 0; c < n * n * r * n_bytes; c++)
            chain->memo[c] = -1;
    }
    return &chain->memo[(((size_t)i * n + (size_t)j) * r + (size_t)b - 1) * n_bytes +
                        (size_t)memory_bytes];
}

static double opt(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                  int b, int64_t memory_bytes)
{
    double *known;

    if (i > j || b == 0)
        return 0;
    if (memory_bytes < 0)
        return HUGE_VAL;
    if (memory_bytes > cutting->top_bytes)
        memory_bytes = cutting->top_bytes;
    known = memo_of(cutting, chain, i, j, b, memory_bytes);
    if (*known < 0)
        *known = splits(cutting, chain, i, j, b, memory_bytes);
    return *known;
}

double brute_part_us(const struct brute_cutting *cutting, struct brute_chain *chain, int i, int j,
                     int b, int64_t memory_bytes)
{
    return opt(cutting, chain, i, j, b, memory_bytes);
}

double brute_item_us(const struct brute_cutting *cutting, struct brute_chain *chain, int k, int b,
                     int64_t memory_bytes)
{
    return step(cutting, chain, k, b, memory_bytes);
}

double brute_chain_us(const struct brute_cutting *cutting, struct brute_chain *chain,
                      int64_t memory_bytes)
{
    return whole(cutting, chain, (int)cutting->problem->request, memory_bytes);
}

void brute_chain_forget(struct brute_chain *chain)
{
    free(chain->memo);
    chain->memo = NULL;
    for (int i = 0; i < chain->n_items; i++) {
        for (int branch = 0; branch < chain->items[i].n_branches; branch++)
            brute_chain_forget(&chain->items[i].branches[branch]);
        if (chain->items[i].subchain)
            brute_chain_forget(chain->items[i].subchain);
    }
}

void brute_chain_free(struct brute_chain *chain)
{
    for (int i = 0; i < chain->n_items; i++) {
        for (int branch = 0; branch < chain->items[i].n_branches; branch++)
            brute_chain_free(&chain->items[i].branches[branch]);
        free(chain->items[i].branches);
        if (chain->items[i].subchain)
            brute_chain_free(chain->items[i].subchain);
        free(chain->items[i].subchain);
    }
    free(chain->items);
    free(chain->cut_bytes);
    free(chain->memo);
}

struct brute_chain brute_line(const struct vbs_problem *problem, const int *order)
{
    int n = problem->profile->n_layers;
    int *done = brute_alloc((size_t)n + 1, sizeof *done);
    struct vbs_problem one = *problem;
    struct brute_chain line = {
        .n_items = n,
        .items = brute_alloc((size_t)n, sizeof *line.items),
        .cut_bytes = brute_alloc((size_t)n + 1, sizeof *line.cut_bytes),
    };

    one.request = 1;
    for (int i = 0; i < n; i++) {
        line.cut_bytes[i] = brute_live_bytes(&one, done);
        line.items[i].layer = order[i];
        line.items[i].step_bytes = brute_step_bytes(&one, done, order[i], 1);
        done[order[i]] = 1;
    }
    line.cut_bytes[n] = brute_live_bytes(&one, done);
    free(done);
    return line;
}

int64_t brute_top_bytes(const struct vbs_problem *problem)
{
    int64_t bytes = 0, scratch = 0;

    for (int k = 0; k <= problem->profile->n_layers; k++)
        bytes += problem->request * brute_sample_bytes(problem, k);
    for (int k = 1; k <= problem->profile->n_layers; k++)
        for (int i = 0; i < problem->profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows =
                brute_rows(problem, k, problem->profile->batches[i], &n_rows);

            for (int a = 0; a < n_rows; a++)
                scratch = rows[a].ws_bytes > scratch ? rows[a].ws_bytes : scratch;
        }
    return bytes + scratch;
}
