/* The planners by their definitions: slow, and without saving memory. */
#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdlib.h>

/* A result of DP-VBS for a chain. Times are totals, not per sample. */

struct memo {
    int i, j, b; /* b 0: empty */
    int64_t memory_bytes;
    double time_us;
};

struct recurrence {
    const struct vbs_problem *problem;
    size_t used, size; /* of memo; size is a power of two */
    struct memo *memo; /* of OPT, open addressing */
};

static double opt(struct recurrence *dp, int i, int j, int b, int64_t memory_bytes);

/* Gives the bytes of b samples that wait before layer i, and of b finished ones after layer j. */
static int64_t waiting_bytes(const struct recurrence *dp, int i, int b)
{
    bool outside = i == 1 && dp->problem->io == VBS_IO_EXTERNAL;

    return outside ? 0 : b * brute_sample_bytes(dp->problem, i - 1);
}

static int64_t finished_bytes(const struct recurrence *dp, int j, int b)
{
    bool outside = j == dp->problem->profile->n_layers && dp->problem->io == VBS_IO_EXTERNAL;

    return outside ? 0 : b * brute_sample_bytes(dp->problem, j);
}

/* Computes recurrence 3: in(k,b) + out(k,b) + ws(k,b) within the memory. */
static double opt_one(const struct recurrence *dp, int k, int b, int64_t memory_bytes)
{
    int64_t in_bytes = b * brute_sample_bytes(dp->problem, k - 1);
    int64_t out_bytes = b * brute_sample_bytes(dp->problem, k);

    if (dp->problem->profile->layers[k].in_place)
        out_bytes = out_bytes > in_bytes ? out_bytes - in_bytes : 0;
    return brute_fastest_us(dp->problem, k, b, memory_bytes - in_bytes - out_bytes);
}

/* Computes recurrence 1: some layer k of i..j runs exactly b samples at once. */
static double opt_exact(struct recurrence *dp, int i, int j, int b, int64_t memory_bytes)
{
    double best = HUGE_VAL;

    for (int k = i; k <= j; k++) {
        double time = opt_one(dp, k, b, memory_bytes);

        if (time < best)
            time += opt(dp, i, k - 1, b, memory_bytes);
        if (time < best)
            time += opt(dp, k + 1, j, b, memory_bytes);
        if (time < best)
            best = time;
    }
    return best;
}

static struct memo *memo_slot(struct memo *memo, size_t size, const struct memo *key)
{
    uint64_t hash = (uint64_t)key->memory_bytes * 31 + (uint64_t)key->b;

    hash = (hash * 31 + (uint64_t)key->i) * 31 + (uint64_t)key->j;
    for (size_t at = (size_t)((hash * UINT64_C(0x9e3779b97f4a7c15)) >> 20);; at++) {
        struct memo *slot = &memo[at & (size - 1)];

        if (slot->b == 0 || (slot->i == key->i && slot->j == key->j && slot->b == key->b &&
                             slot->memory_bytes == key->memory_bytes))
            return slot;
    }
}

static void memo_keep(struct recurrence *dp, const struct memo *entry)
{
    if (2 * dp->used >= dp->size) {
        size_t size = dp->size ? 2 * dp->size : 256;
        struct memo *memo = brute_alloc(size, sizeof *memo);

        for (size_t i = 0; i < dp->size; i++)
            if (dp->memo[i].b > 0)
                *memo_slot(memo, size, &dp->memo[i]) = dp->memo[i];
        free(dp->memo);
        dp->memo = memo;
        dp->size = size;
    }
    *memo_slot(dp->memo, dp->size, entry) = *entry;
    dp->used++;
}

/* Gives whether a chunk exceeds the latency (VBS III, end): b1 samples that pass all layers are a
 * chunk where io is external. */
static bool is_late_chunk(const struct recurrence *dp, int i, int j, double time)
{
    return i == 1 && j == dp->problem->profile->n_layers && dp->problem->io == VBS_IO_EXTERNAL &&
           dp->problem->latency_us > 0 && time > dp->problem->latency_us;
}

/* Computes recurrence 2: first b1 samples pass, then the others beside the b1 finished ones. */
static double opt(struct recurrence *dp, int i, int j, int b, int64_t memory_bytes)
{
    struct memo entry = {.i = i, .j = j, .b = b, .memory_bytes = memory_bytes, .time_us = HUGE_VAL};

    if (i > j || b == 0)
        return 0.0;
    if (memory_bytes < 0)
        return HUGE_VAL;
    if (dp->size > 0) {
        const struct memo *known = memo_slot(dp->memo, dp->size, &entry);

        if (known->b > 0)
            return known->time_us;
    }
    for (int b1 = 1; b1 <= b; b1++) {
        double time = opt_exact(dp, i, j, b1, memory_bytes - waiting_bytes(dp, i, b - b1));

        if (is_late_chunk(dp, i, j, time))
            time = HUGE_VAL;
        if (time < HUGE_VAL)
            time += opt(dp, i, j, b - b1, memory_bytes - finished_bytes(dp, j, b1));
        if (time < entry.time_us)
            entry.time_us = time;
    }
    memo_keep(dp, &entry);
    return entry.time_us;
}

double brute_dp_vbs_us(const struct vbs_problem *problem, int64_t memory_bytes)
{
    struct recurrence dp = {.problem = problem};
    double time = opt(&dp, 1, problem->profile->n_layers, (int)problem->request, memory_bytes);
    bool late =
        problem->io == VBS_IO_RESIDENT && problem->latency_us > 0 && time > problem->latency_us;

    free(dp.memo);
    return late ? HUGE_VAL : time;
}

/* The following functions are the baselines. */

static int largest_batch(const struct vbs_problem *problem, int limit)
{
    int best = 0;

    for (int i = 0; i < problem->profile->n_batches; i++)
        if (problem->profile->batches[i] <= limit)
            best = problem->profile->batches[i];
    return best;
}

/* Runs all layers, one after the other, on one batch. */
static double chunk_us(struct brute_clock *clock, int64_t memory_bytes, int *done, int batch)
{
    const struct vbs_problem *problem = clock->problem;
    double time = 0.0;

    for (int k = 1; k <= problem->profile->n_layers; k++) {
        int64_t bytes = brute_step_bytes(problem, done, k, batch);
        double step_us = brute_fastest_us(problem, k, batch, memory_bytes - bytes);

        time += step_us;
        done[k] += batch;
        brute_clock_step(clock, k, batch, step_us);
    }
    return time;
}

static double fixed_us(const struct vbs_problem *problem, int64_t memory_bytes, int batch)
{
    int *done = brute_alloc((size_t)problem->profile->n_layers + 1, sizeof *done);
    struct brute_clock clock = {.problem = problem};
    double time = 0.0;

    for (int left = (int)problem->request; left > 0; left -= batch) {
        if (batch > left)
            batch = largest_batch(problem, left);
        time += chunk_us(&clock, memory_bytes, done, batch);
    }
    if (!brute_in_time(&clock))
        time = HUGE_VAL;
    free(clock.done);
    free(done);
    return time;
}

double brute_fbs_us(const struct vbs_problem *problem, int64_t memory_bytes)
{
    for (int i = problem->profile->n_batches - 1; i >= 0; i--) {
        int batch = problem->profile->batches[i];
        double time = batch <= problem->request ? fixed_us(problem, memory_bytes, batch) : HUGE_VAL;

        if (time < HUGE_VAL)
            return time;
    }
    return HUGE_VAL;
}

double brute_fbs_best_us(const struct vbs_problem *problem, int64_t memory_bytes)
{
    double best = HUGE_VAL;

    for (int i = 0; i < problem->profile->n_batches; i++) {
        int batch = problem->profile->batches[i];
        double time = batch <= problem->request ? fixed_us(problem, memory_bytes, batch) : HUGE_VAL;

        best = time < best ? time : best;
    }
    return best;
}

static bool is_read_from(const struct vbs_problem *problem, int tensor, int first_reader)
{
    for (int k = first_reader; k <= problem->profile->n_layers; k++)
        if (brute_reads(problem, k, tensor))
            return true;
    return false;
}

/* Gives the samples of tensor that greedy reserves while layer runs in steps of batch. */
static int64_t greedy_samples(const struct vbs_problem *problem, int tensor, int layer, int batch)
{
    bool resident = problem->io == VBS_IO_RESIDENT;
    int64_t request = problem->request;

    if (tensor > layer)
        return 0;
    if (tensor == 0 && !resident)
        return brute_reads(problem, layer, 0) ? batch : 0;
    if (tensor > 0 && brute_is_final(problem, tensor))
        return resident ? request : tensor == layer ? batch : 0;
    return tensor == layer || is_read_from(problem, tensor, layer) ? request : 0;
}

/* Gives the bytes that outputs and inputs share. In place, each reserved output sample is in the
 * place of an input sample, unless the output stays and the input exists only for the step. */
static int64_t greedy_shared(const struct vbs_problem *problem, int layer, int batch)
{
    const struct vbs_profile_layer *runs = &problem->profile->layers[layer];
    bool lent = runs->inputs[0] == 0 && problem->io == VBS_IO_EXTERNAL;
    int64_t in_bytes = brute_sample_bytes(problem, runs->inputs[0]);

    if (!runs->in_place || is_read_from(problem, runs->inputs[0], layer + 1) ||
        (lent && !brute_is_final(problem, layer)))
        return 0;
    return greedy_samples(problem, layer, layer, batch) *
           (in_bytes < runs->out_bytes ? in_bytes : runs->out_bytes);
}

static int64_t greedy_reserved(const struct vbs_problem *problem, int layer, int batch)
{
    int64_t bytes = 0;

    for (int tensor = 0; tensor <= layer; tensor++)
        bytes +=
            greedy_samples(problem, tensor, layer, batch) * brute_sample_bytes(problem, tensor);
    return bytes - greedy_shared(problem, layer, batch);
}

static double greedy_layer_us(struct brute_clock *clock, int64_t memory_bytes, int layer, int batch)
{
    const struct vbs_problem *problem = clock->problem;
    double time = 0.0;

    for (int left = (int)problem->request; left > 0; left -= batch) {
        double step_us;

        if (batch > left)
            batch = largest_batch(problem, left);
        step_us = brute_fastest_us(problem, layer, batch,
                                   memory_bytes - greedy_reserved(problem, layer, batch));
        time += step_us;
        brute_clock_step(clock, layer, batch, step_us);
    }
    return time;
}

/* Gives the largest batch that fits, 0: there is none. */
static int greedy_batch(const struct vbs_problem *problem, int64_t memory_bytes, int layer)
{
    for (int i = problem->profile->n_batches - 1; i >= 0; i--) {
        struct brute_clock unused = {.problem = problem};
        int batch = problem->profile->batches[i];
        bool fits = batch <= problem->request &&
                    greedy_layer_us(&unused, memory_bytes, layer, batch) < HUGE_VAL;

        free(unused.done);
        if (fits)
            return batch;
    }
    return 0;
}

double brute_greedy_us(const struct vbs_problem *problem, int64_t memory_bytes)
{
    struct brute_clock clock = {.problem = problem};
    double total = 0.0;

    for (int k = 1; k <= problem->profile->n_layers; k++) {
        int batch = greedy_batch(problem, memory_bytes, k);

        total += batch > 0 ? greedy_layer_us(&clock, memory_bytes, k, batch) : HUGE_VAL;
    }
    if (!brute_in_time(&clock))
        total = HUGE_VAL;
    free(clock.done);
    return total;
}
