/*
 * joint: batch sizes, resident weights, weights streamed in slices, prefetch and buffers together.
 *
 * One recursion treats weights that are streamed as a workspace of their step that costs time. A
 * row of the profile that runs in p slices takes the bytes of two slices beside its workspace,
 * because the next slice is loaded while one is read, and pays a share of the copy. On such rows
 * the cuttings of dp-vbs+ choose batches, slices and algorithms at once, for every budget. With
 * nothing to pay and no weights to hold, the recursion is dp-vbs+ beside resident weights; with
 * batch 1 it is mmcnn.
 *
 * The recursion does not know how much of a copy computing hides, nor which weights stay in memory
 * from one step to a later one. It is therefore solved at several prices (a copy is paid in full,
 * in part, or not at all), and stream.h adds transfers to each of its schedules within the budgets
 * of a grid. A share of the budget is for the cutting. The rest keeps weights in memory: from
 * buffers for the next step up to all of them. The plans of mmcnn, of vdnn and of dp-vbs+ beside
 * resident weights are offered, too. A budget has the best of all plans that need no more, so that
 * a larger budget never has a slower plan.
 *
 * Exact are the memory of each plan, its time on both clocks, and the recursion at its price.
 * Heuristic are the prices, the shares of the budget, and the choice of weights to keep (stream.h).
 * Every plan has a lower bound (plan/problem/bound.c).
 *
 * Complexity: a solve of dp-vbs+ for each price, with the rows times the numbers of slices; then
 * O(budgets x prices x shares x steps log steps), less the trials that cannot be faster than a
 * known plan. A large request is solved in chunks and in units of several samples, so that these
 * solves do not grow with it. The solve of dp-vbs+ beside resident weights grows with its square;
 * under a time limit it comes last.
 */
#include "plan/dp/dp.h"
#include "plan/uniform/uniform.h"
#include "plan/weights/weights.h"
#include "plan/weights/least.h"
#include "plan/weights/trial.h"
#include "plan/problem/problem.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A slice is so large that the latency of a copy is a 128th of its time, but within the least and
 * the most bytes. Where memory is tight the recursion also tries halves, quarters and so on, down
 * to the last size: smaller slices make long schedules and save little memory. */
#define LEAST_SLICE_BYTES  ((int64_t)256 << 10)
#define MOST_SLICE_BYTES   ((int64_t)8 << 20)
#define LAST_SLICE_BYTES   ((int64_t)32 << 10)
#define LAST_SLICE_SHARE   16384 /* of all weights, where that is less */
#define LATENCIES_IN_SLICE 128
#define MAX_DOUBLINGS      13 /* of the number of slices of one row: up to 4096 slices */

/*
 * Small slices are slow: a kernel with few channels takes longer than its share of the time
 * (experiments/weights-slices: up to 5 percent for 48 channels of a convolution, 6 to 23 for 128 of
 * a large fully connected layer). The recursion therefore pays as if each slice had a few channels
 * more, and pays a share of the latency even where copies are free. This steers only the choice;
 * the time of a plan is by the shares. Where the channels of a profile are blocks (its rows tell in
 * how many slices they run), a slice of one block takes up to a tenth more, and the times of rows
 * that were measured in slices contain this already.
 */
#define SLICE_CHANNELS      4
#define VECTOR_CHANNELS     16 /* layers with fewer channels pay nothing */
#define SLICE_UNITS         0.1
#define LEAST_LATENCY_PRICE 0.25

/* The recursion takes time by the square of the request. A request of more samples is planned
 * twice: chunk after chunk of so many samples, and as a whole in so many units of several samples.
 */
#define MAX_CHUNK  64
#define FEW_CHUNKS 3 /* on which schedules are tried */
#define MAX_OFFERS 64 /* of the plans of another planner for a larger request in limited time */
#define REPORT_S   0.1

/* Prices of a copied microsecond, and shares of a budget for the cutting. */
static const double PRICES[] = {1, 0.25, 0};
static const double SHARES[] = {1, 0.75, 0.5, 0.25};

#define N_PRICES ((int)(sizeof PRICES / sizeof PRICES[0]))
#define N_SHARES ((int)(sizeof SHARES / sizeof SHARES[0]))

/* One way of planning a large request. */
struct joint_pass {
    bool whole;     /* the whole request in units of several samples; else in chunks of samples */
    int max_units;  /* of the request, or samples of a chunk */
    int n_prices;   /* the first of PRICES */
    bool is_coarse; /* only the largest budget that matters is tried, where one is known */
};

/* Coarse passes come first, so that a good schedule is known early: each takes several times as
 * long as the one before, and leads to better schedules. Without a time limit the last two are left
 * out, because the passes for all budgets contain them. */
static const struct joint_pass COARSE_PASSES[] = {
    {true, 8, 1, true},
    {false, 8, 1, true},
    {true, 24, N_PRICES, true},
    {false, 24, N_PRICES, true},
    {true, MAX_CHUNK, N_PRICES, true},
    {false, MAX_CHUNK, N_PRICES, true},
};
static const struct joint_pass FULL_PASSES[] = {{true, MAX_CHUNK, N_PRICES, false},
                                                {false, MAX_CHUNK, N_PRICES, false}};

#define N_COARSE_PASSES ((int)(sizeof COARSE_PASSES / sizeof COARSE_PASSES[0]))
#define N_FULL_PASSES   ((int)(sizeof FULL_PASSES / sizeof FULL_PASSES[0]))

/* What an algorithm of the priced profile stands for: one of the task, and how often its slices are
 * halved. */
struct row_kind {
    int algorithm, doublings;
};

/* How a schedule is made of a cutting. */
struct trial {
    int cutting; /* of the price at hand */
    bool joins_steps;
    int64_t reserved_bytes, memory_bytes;
};

struct trial_list {
    int n;
    int64_t capacity;
    struct trial *list;
};

struct joint {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_pareto_set *pareto;
    /* Where schedules are tried: the task and its plans, or one with few chunks that stands for the
     * task, and what these schedules would take. */
    const struct vbs_task *tried;
    struct vbs_pareto_set *found;
    int n_repeats; /* of a chunk of tried, beside those that it has */
    struct trial_list trials; /* of which found has the best; a plan's tag is an index */
    int64_t slice_bytes;      /* where memory is not tight */
    int64_t last_slice_bytes; /* the least where memory is tight */
    int most_doublings;       /* of the number of slices, as the priced profile has names for */
    bool counts_units; /* the channels of the profile are blocks: rows tell how they divide */
    double price;
    struct vbs_profile *profile;           /* with the price */
    const struct vbs_pareto_set *cuttings; /* of dp-vbs+ on it, for a chunk of the request */
    const struct vbs_pareto_set *rest;     /* for the last chunk where that is smaller, or null */
    int chunk;                             /* samples */
    int grain;                             /* samples of a unit, the recursion's own sample */
    struct vbs_arena arena;
    int *batches; /* of the priced profile */
    int n_batches;
    struct row_kind *kinds; /* [algorithm of the priced profile] */
    double from_s, until_s; /* until_s: no further schedules are tried; 0: all are */
    double reported_s;
    bool is_coarse;       /* the pass at hand tries only the largest budget that matters */
    int n_done, n_solves; /* prices of all passes */
};

/* The name of a row of the priced profile: the number of its kind, in the order of the algorithms,
 * for a profile sorts its algorithms by name. */
static void name_kind(char *name, size_t size, int kind)
{
    snprintf(name, size, "%08d", kind);
}

static int kind_number(const struct joint *joint, int algorithm, int doublings)
{
    return algorithm * joint->most_doublings + doublings;
}

/* Makes the index from algorithms of the priced profile at hand to kinds of rows. */
static enum vbs_status find_kinds(struct joint *joint)
{
    int n_algorithms = joint->task->profile->n_algorithms;

    joint->kinds =
        vbs_arena_alloc(&joint->arena, (size_t)joint->profile->n_algorithms, sizeof *joint->kinds);
    if (!joint->kinds)
        return vbs_no_memory(joint->ctx);
    for (int a = 0; a < n_algorithms; a++)
        for (int d = 0; d < joint->most_doublings; d++) {
            char name[16];
            int at;

            name_kind(name, sizeof name, kind_number(joint, a, d));
            at = vbs_profile_algorithm(joint->profile, name);
            if (at >= 0)
                joint->kinds[at] = (struct row_kind){a, d};
        }
    return VBS_OK;
}

/* The number of slices of a row's weights: the number where memory is not tight, doubled. */
static int slices_of(const struct joint *joint, int layer, const struct vbs_profile_row *row,
                     int doublings)
{
    const struct vbs_profile_layer *l = &joint->task->profile->layers[layer];
    int64_t limit = vbs_slice_limit(l, row->weight_bytes);
    int64_t n_slices = (row->weight_bytes + joint->slice_bytes - 1) / joint->slice_bytes;

    /* A row that was measured in slices runs whole, then in its slices with the next one being
     * loaded, then in its slices without. */
    if (row->n_slices > 0)
        return doublings == 0 ? 1 : row->n_slices;
    if (row->weight_bytes / joint->last_slice_bytes < limit)
        limit = row->weight_bytes / joint->last_slice_bytes;
    n_slices = (n_slices < 1 ? 1 : n_slices) << doublings;
    return (int)(n_slices < limit ? n_slices : limit < 1 ? 1 : limit);
}

/* Time and workspace of one algorithm on batch samples, in steps of batches that the profile has:
 * the largest first. False: one of them has no such row. */
static bool compose(const struct vbs_task *task, int layer, int batch, int algorithm,
                    struct vbs_profile_row *sum)
{
    bool first = true;

    for (int left = batch, b; left > 0; left -= b) {
        int n_rows, a = 0;
        const struct vbs_profile_row *rows;

        b = vbs_trial_batch(task, left);
        rows = vbs_profile_rows(task->profile, layer, task->batch_index[b], &n_rows);
        while (a < n_rows && rows[a].algorithm != algorithm)
            a++;
        if (a == n_rows || (!first && rows[a].format != sum->format))
            return false;
        if (first)
            *sum = rows[a];
        else {
            if (rows[a].n_slices != sum->n_slices)
                sum->n_slices = 1;
            sum->time_us += rows[a].time_us;
            if (rows[a].ws_bytes > sum->ws_bytes)
                sum->ws_bytes = rows[a].ws_bytes;
        }
        first = false;
    }
    return true;
}

/* The cost of small slices, as a share of the row's time. */
static double fine_slices_share(const struct joint *joint, const struct vbs_profile_layer *layer,
                                int n_slices)
{
    if (joint->counts_units && layer->channels > 0)
        return SLICE_UNITS * n_slices / layer->channels;
    return layer->channels >= VECTOR_CHANNELS
               ? (double)(SLICE_CHANNELS * n_slices) / layer->channels
               : 0;
}

/* The row for steps whose weights are streamed in slices: its time includes the price of the
 * copies, its workspace the slices. */
static struct vbs_profile_row price_row(const struct joint *joint, int layer,
                                        const struct vbs_profile_row *row, int n_slices,
                                        bool single)
{
    const struct vbs_profile_layer *l = &joint->task->profile->layers[layer];
    int64_t slice_bytes = vbs_slice_largest(l, row->weight_bytes, n_slices);
    struct vbs_profile_row priced = {.time_us = fmin(row->time_us, VBS_MAX_TIME_US),
                                     .ws_bytes = row->ws_bytes};

    if (row->weight_bytes == 0)
        return priced;
    priced.ws_bytes += n_slices == 1 || single ? slice_bytes : 2 * slice_bytes;
    priced.time_us +=
        fmax(joint->price, LEAST_LATENCY_PRICE) * joint->task->problem.copy.latency_us * n_slices +
        joint->price * (double)row->weight_bytes / joint->task->problem.copy.bytes_per_us;
    if (n_slices > 1 && row->n_slices == 0)
        priced.time_us += row->time_us * fine_slices_share(joint, l, n_slices);
    priced.time_us = fmin(priced.time_us, VBS_MAX_TIME_US);
    return priced;
}

static enum vbs_status add_priced(struct joint *joint, struct vbs_profile_builder *builder,
                                  int layer, int batch, const struct vbs_profile_row *row)
{
    const struct vbs_profile_layer *l = &joint->task->profile->layers[layer];
    bool divides = row->weight_bytes > 0 && vbs_row_most_slices(l, row) > 1;
    int most = divides ? slices_of(joint, layer, row, MAX_DOUBLINGS) : 1;
    bool last = false;

    for (int d = 0; d < joint->most_doublings && !last; d++) {
        int n_slices = divides ? slices_of(joint, layer, row, d) : 1;
        struct vbs_profile_row priced;
        char name[32];

        last = n_slices == most && (most == 1 || row->n_slices == 0 || d == 2);
        priced = price_row(joint, layer, row, n_slices, last);
        name_kind(name, sizeof name, kind_number(joint, row->algorithm, d));
        VBS_TRY(vbs_profile_builder_row(joint->ctx, builder, layer, batch, name, &priced));
    }
    return VBS_OK;
}

static enum vbs_status priced_rows(struct vbs_ctx *ctx, void *self,
                                   struct vbs_profile_builder *builder, int layer, int batch)
{
    struct joint *joint = self;
    int samples = batch * joint->grain < joint->chunk ? batch * joint->grain : joint->chunk;
    int n_rows, first = vbs_trial_batch(joint->task, samples);
    const struct vbs_profile_row *rows =
        vbs_profile_rows(joint->task->profile, layer, joint->task->batch_index[first], &n_rows);

    (void)ctx;
    for (int a = 0; a < n_rows; a++) {
        struct vbs_profile_row row;

        if (compose(joint->task, layer, samples, rows[a].algorithm, &row))
            VBS_TRY(add_priced(joint, builder, layer, batch, &row));
    }
    return VBS_OK;
}

/* Makes a layer's bytes of one sample those of a unit. */
static void scale_layer(void *self, struct vbs_profile_layer *layer)
{
    const struct joint *joint = self;

    layer->out_bytes *= joint->grain;
    layer->in_bytes *= joint->grain;
}

/* Whether steps of so many units are tried: batches of the profile, multiples of its largest, which
 * steps that follow each other make up, so that weights serve all of them, and the whole chunk; of
 * larger units also powers of two, for they may match no batch. */
static bool tries_units(const struct joint *joint, int units)
{
    const struct vbs_task *task = joint->task;
    int largest = task->profile->batches[task->n_batches - 1], samples = units * joint->grain;

    return samples >= joint->chunk || samples % largest == 0 ||
           (samples < largest && task->batch_index[samples] >= 0) ||
           (joint->grain > 1 && (units & (units - 1)) == 0);
}

/* Chooses units of samples, and chunks of at most max_units of them. */
static enum vbs_status choose_units(struct joint *joint, bool whole, int max_units)
{
    const struct vbs_task *task = joint->task;
    int request = task->request, largest = task->profile->batches[task->n_batches - 1], n_units;

    joint->grain = whole ? (request + max_units - 1) / max_units : 1;
    joint->chunk = request;
    if (!whole && request > max_units)
        joint->chunk = largest <= max_units ? max_units / largest * largest : max_units;
    n_units = (joint->chunk + joint->grain - 1) / joint->grain;
    joint->n_batches = 0;
    joint->batches = vbs_arena_alloc(&joint->arena, (size_t)n_units, sizeof *joint->batches);
    if (!joint->batches)
        return vbs_no_memory(joint->ctx);
    for (int u = 1; u <= n_units; u++)
        if (tries_units(joint, u))
            joint->batches[joint->n_batches++] = u;
    return VBS_OK;
}

/* ---- From a cutting to schedules ---- */

/* True where steps of one layer follow each other, so that a slice may run all of them. */
static bool has_runs(const struct vbs_step_list *steps)
{
    for (int64_t s = 1; s < steps->n_steps; s++)
        if (steps->steps[s].layer == steps->steps[s - 1].layer)
            return true;
    return false;
}

/* Adds the steps of a chunk in the task's own rows, and cuts each layer's weights as finely as they
 * ask for. VBS_INFEASIBLE: an algorithm has no row for the samples of a unit that is not whole. */
static enum vbs_status translate_chunk(struct joint *joint, const struct vbs_step *cutting,
                                       int64_t n_steps, struct vbs_step_list *steps,
                                       struct vbs_slicing *slicing)
{
    const struct vbs_task *task = joint->tried;
    int *done = calloc((size_t)task->n_layers + 1, sizeof *done);
    enum vbs_status status = done ? VBS_OK : vbs_no_memory(joint->ctx);

    for (int64_t s = 0; status == VBS_OK && s < n_steps; s++) {
        const struct vbs_step *step = &cutting[s];
        const struct row_kind *kind = &joint->kinds[step->algorithm];
        int layer = step->layer, n_slices, samples = step->batch * joint->grain;
        struct vbs_profile_row row;
        int *cut;

        if (samples > joint->chunk - done[layer]) /* the last unit may be less than whole */
            samples = joint->chunk - done[layer];
        done[layer] += samples;
        if (!compose(task, layer, samples, kind->algorithm, &row)) {
            status = VBS_INFEASIBLE; /* of the last samples only: another algorithm has them */
            break;
        }
        for (int left = samples, b; status == VBS_OK && left > 0; left -= b) {
            b = vbs_trial_batch(task, left);
            status = vbs_step_list_add(joint->ctx, steps, layer, b, kind->algorithm);
        }
        cut = &slicing->n_slices[layer * slicing->n_formats + row.format];
        n_slices = row.weight_bytes > 0 ? slices_of(joint, layer, &row, kind->doublings) : 0;
        if (n_slices > *cut)
            *cut = n_slices;
    }
    free(done);
    return status;
}

/* A cutting in the task's own rows. */
struct translation {
    struct vbs_arena arena;
    struct vbs_slicing slicing;
    struct vbs_step_list steps; /* of all samples that are tried */
    double chunk_us;            /* computing, of the first chunk */
};

/* The whole request, chunk after chunk. VBS_INFEASIBLE: as translate_chunk, or the rest does not
 * fit where a chunk does. */
static enum vbs_status translate(struct joint *joint, const struct vbs_pareto_plan *cutting,
                                 struct translation *to)
{
    struct vbs_draft rest = {0};
    enum vbs_status status = VBS_OK;

    for (int left = joint->tried->request; left >= joint->chunk; left -= joint->chunk) {
        status = translate_chunk(joint, cutting->steps, cutting->n_steps, &to->steps, &to->slicing);
        if (status != VBS_OK)
            return status;
        if (to->chunk_us == 0)
            to->chunk_us = vbs_step_list_us(joint->task, &to->steps);
    }
    if (joint->rest) {
        status = vbs_pareto_plan_within(joint->ctx, (void *)(uintptr_t)joint->rest, cutting->bytes,
                                        &rest);
        if (status == VBS_OK)
            status = translate_chunk(joint, rest.steps.steps, rest.steps.n_steps, &to->steps,
                                     &to->slicing);
        vbs_step_list_clear(&rest.steps);
    }
    return status;
}

static void translation_clear(struct translation *translation)
{
    vbs_step_list_clear(&translation->steps);
    vbs_arena_clear(&translation->arena);
}

/* Errors as of translate; *translation is cleared by the caller all the same. */
static enum vbs_status translation_init(struct joint *joint, int cutting,
                                        struct translation *translation)
{
    *translation = (struct translation){0};
    VBS_TRY(
        vbs_slicing_init(joint->ctx, joint->task, &translation->arena, &translation->slicing));
    return translate(joint, &joint->cuttings->list[cutting], translation);
}

static enum vbs_status stream_init(struct joint *joint, const struct translation *translation,
                                   bool joins_steps, struct vbs_stream *stream)
{
    const struct vbs_step_list *steps = &translation->steps;

    VBS_TRY(vbs_stream_init(joint->ctx, joint->tried, steps->steps, steps->n_steps,
                            &translation->slicing, joins_steps, stream));
    if (joint->n_repeats > 0)
        vbs_stream_repeat(stream, joint->chunk, joint->n_repeats);
    return VBS_OK;
}

/* Tries a cutting in budgets of which it is to take the largest of shares. */
struct cutting_trial {
    int cutting;
    int64_t from_bytes, to_bytes; /* of the cutting's own budget: it is the best from..to */
};

static bool takes_share(const struct cutting_trial *trial, int64_t memory_bytes)
{
    for (int s = 0; s < N_SHARES; s++) {
        int64_t bytes = (int64_t)(SHARES[s] * (double)memory_bytes);

        if (bytes >= trial->from_bytes && bytes < trial->to_bytes)
            return true;
    }
    return false;
}

/* True when the cutting is tried in some budget: most are too near to the next for that. */
static bool is_tried(const struct cutting_trial *trial, const struct vbs_budget_list *budgets)
{
    for (int i = 0; i < budgets->n; i++)
        if (takes_share(trial, budgets->bytes[i]))
            return true;
    return false;
}

static bool is_late(const struct joint *joint)
{
    return joint->until_s > 0 && vbs_clock_s() > joint->until_s;
}

/* Plans the transfers as the trial says; what comes out is found. */
static enum vbs_status try_transfers(struct joint *joint, const struct vbs_stream *stream,
                                     const struct trial *trial)
{
    struct vbs_stream_rule rule = {.keeps = true, .reserved_bytes = trial->reserved_bytes};
    struct trial_list *trials = &joint->trials;

    VBS_TRY(vbs_grow(joint->ctx, &trials->list, &trials->capacity, (int64_t)trials->n + 1,
                     sizeof *trials->list));
    joint->found->tag = trials->n;
    trials->list[trials->n++] = *trial;
    return vbs_trial_stream(joint->ctx, stream, &rule, trial->memory_bytes, joint->found);
}

static enum vbs_status try_stream(struct joint *joint, const struct cutting_trial *cutting,
                                  bool joins_steps, const struct vbs_stream *stream,
                                  const struct vbs_budget_list *budgets)
{
    struct trial trial = {.cutting = cutting->cutting, .joins_steps = joins_steps};
    int64_t largest = 0;

    for (int p = 0; p < stream->n_blocks; p++)
        if (stream->blocks[p].bytes > largest)
            largest = stream->blocks[p].bytes;
    trial.memory_bytes = stream->least_bytes;
    VBS_TRY(try_transfers(joint, stream, &trial));
    trial.memory_bytes = cutting->to_bytes;
    if (cutting->to_bytes < INT64_MAX)
        VBS_TRY(try_transfers(joint, stream, &trial));
    for (int i = 0; i < budgets->n && !is_late(joint); i++) {
        int64_t bytes = budgets->bytes[joint->until_s > 0 ? budgets->n - 1 - i : i];

        if (!takes_share(cutting, bytes))
            continue;
        trial.memory_bytes = bytes;
        for (int reserves = 0; reserves <= 1; reserves++) {
            trial.reserved_bytes = reserves * largest;
            VBS_TRY(try_transfers(joint, stream, &trial));
        }
    }
    return VBS_OK;
}

static enum vbs_status try_cutting(struct joint *joint, const struct cutting_trial *trial,
                                   const struct vbs_budget_list *budgets)
{
    struct translation translation;
    enum vbs_status status = translation_init(joint, trial->cutting, &translation);
    double compute_us = vbs_step_list_us(joint->task, &translation.steps) +
                        joint->n_repeats * translation.chunk_us;

    if (status == VBS_OK && !vbs_pareto_wants(joint->found, trial->from_bytes, compute_us))
        goto clean_up; /* what computing alone takes is beaten in every budget that it fits */
    for (int joins_steps = has_runs(&translation.steps);
         status == VBS_OK && joins_steps >= 0 && !is_late(joint); joins_steps--) {
        struct vbs_stream stream;

        status = stream_init(joint, &translation, joins_steps, &stream);
        if (status != VBS_OK)
            break;
        status = try_stream(joint, trial, joins_steps, &stream, budgets);
        vbs_stream_clear(&stream);
    }
clean_up:
    translation_clear(&translation);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Makes the schedule of a trial for the task. */
static enum vbs_status make_schedule(struct joint *joint, const struct trial *trial)
{
    struct vbs_stream_rule rule = {.keeps = true, .reserved_bytes = trial->reserved_bytes};
    struct translation translation;
    struct vbs_stream stream;
    enum vbs_status status = translation_init(joint, trial->cutting, &translation);

    if (status == VBS_OK)
        status = stream_init(joint, &translation, trial->joins_steps, &stream);
    if (status == VBS_OK) {
        status = vbs_trial_stream(joint->ctx, &stream, &rule, trial->memory_bytes, joint->pareto);
        vbs_stream_clear(&stream);
    }
    translation_clear(&translation);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* The place where schedules are tried: the task itself. */
static void try_whole_task(struct joint *joint)
{
    joint->tried = joint->task;
    joint->found = joint->pareto;
    joint->n_repeats = 0;
}

/* Whether no budget so large is asked for. */
static bool is_above(const struct joint *joint, int64_t bytes)
{
    int64_t most_bytes = joint->task->options.most_bytes;

    return most_bytes > 0 && bytes > most_bytes;
}

/* Makes the schedules of the best trials from one on, the fastest first: those of few chunks stand
 * for the task no longer. */
static enum vbs_status make_schedules(struct joint *joint, int first_trial)
{
    struct vbs_pareto_set *found = joint->found;
    const struct vbs_task *tried = joint->tried;
    int n_repeats = joint->n_repeats;
    int n = found->n, stride;
    bool has_made = false;
    enum vbs_status status = VBS_OK;

    while (n > 1 && is_above(joint, found->list[n - 1].bytes))
        n--;
    stride = vbs_trial_stride(joint->task, n);
    try_whole_task(joint);
    for (int i = n - 1; status == VBS_OK && i >= 0; i--) {
        const struct vbs_pareto_plan *plan = &found->list[i];

        if (plan->tag < first_trial || !vbs_trial_is_made(i, n, stride) ||
            !vbs_pareto_wants(joint->pareto, plan->bytes, plan->time_us))
            continue;
        if (has_made && is_late(joint))
            break;
        status = make_schedule(joint, &joint->trials.list[plan->tag]);
        has_made = true;
    }
    joint->tried = tried;
    joint->found = found;
    joint->n_repeats = n_repeats;
    return status;
}

/* Tells that the cuttings of a price are tried up to a share of them. */
static void report(struct joint *joint, double share)
{
    const struct vbs_progress *progress = &joint->task->options.progress;
    double now_s = vbs_clock_s(), done = (joint->n_done + share) / joint->n_solves, left_s = -1;

    if (!progress->report || now_s < joint->reported_s + REPORT_S)
        return;
    joint->reported_s = now_s;
    if (done > 0)
        left_s = (now_s - joint->from_s) * (1 - done) / done;
    if (joint->until_s > 0)
        left_s = fmin(left_s < 0 ? HUGE_VAL : left_s, fmax(joint->until_s - now_s, 0));
    progress->report(progress->self, done, left_s, "schedules with transfers");
}

static enum vbs_status try_cuttings(struct joint *joint)
{
    const struct vbs_pareto_set *cuttings = joint->cuttings;
    struct vbs_budget_list budgets = {0};
    int64_t from_bytes, to_bytes, most_bytes = joint->task->options.most_bytes;
    bool fastest_first = joint->until_s > 0 || joint->is_coarse;
    enum vbs_status status = VBS_OK;

    if (cuttings->n > 0) {
        from_bytes = cuttings->list[0].bytes;
        to_bytes = cuttings->list[cuttings->n - 1].bytes + 2 * vbs_task_lightest_bytes(joint->task);
        if (fastest_first && most_bytes > from_bytes && most_bytes < to_bytes)
            to_bytes = most_bytes; /* larger ones are not asked for */
        status = joint->is_coarse && most_bytes > from_bytes
                     ? vbs_budget_list_add(joint->ctx, &budgets, most_bytes)
                     : vbs_budget_list_add_grid(joint->ctx, &budgets, from_bytes, to_bytes);
    }
    for (int i = 0; status == VBS_OK && i < cuttings->n && !is_late(joint); i++) {
        int c = fastest_first ? cuttings->n - 1 - i : i;
        struct cutting_trial trial = {.cutting = c,
                                      .from_bytes = cuttings->list[c].bytes,
                                      .to_bytes = c + 1 < cuttings->n ? cuttings->list[c + 1].bytes
                                                                      : INT64_MAX};

        report(joint, (double)i / cuttings->n);
        if (is_tried(&trial, &budgets))
            status = try_cutting(joint, &trial, &budgets);
    }
    vbs_budget_list_clear(&budgets);
    return status;
}

/* Solves the recursion for a number of samples; *self is closed by the caller. */
static enum vbs_status solve_priced(struct joint *joint, int samples, struct vbs_task *task,
                                    void **self)
{
    struct vbs_problem problem = joint->task->problem;
    size_t held;

    problem.profile = joint->profile;
    problem.weights = VBS_WEIGHTS_EXCLUDED;
    problem.request = (samples + joint->grain - 1) / joint->grain;
    VBS_TRY(vbs_task_init(joint->ctx, task, &problem));
    task->cut_until_s = joint->until_s;
    task->options.progress = joint->task->options.progress;
    VBS_TRY(vbs_planner_dp_vbs_plus.open(joint->ctx, task, self));
    held = vbs_planner_dp_vbs_plus.peak_bytes(*self);
    if (held > joint->pareto->solving_bytes)
        joint->pareto->solving_bytes = held;
    return VBS_OK;
}

static void close_priced(struct vbs_task *task, void *self)
{
    if (self)
        vbs_planner_dp_vbs_plus.close(self);
    vbs_task_clear(task);
}

/* Solves the recursion at a price, and makes schedules of what comes out. */
static enum vbs_status try_price(struct joint *joint, double price)
{
    struct vbs_derivation derivation = {.self = joint,
                                        .layer = scale_layer,
                                        .rows = priced_rows,
                                        .n_batches = joint->n_batches,
                                        .batches = joint->batches};
    int left = joint->task->request % joint->chunk;
    struct vbs_task task = {0}, rest_task = {0};
    void *solved = NULL, *rest = NULL;
    int first_trial = joint->trials.n;
    enum vbs_status status;

    joint->price = price;
    VBS_TRY(vbs_profile_derive(joint->ctx, joint->task->profile, &derivation, &joint->profile));
    status = find_kinds(joint);
    if (status == VBS_OK)
        status = solve_priced(joint, joint->chunk, &task, &solved);
    if (status == VBS_OK && left > 0)
        status = solve_priced(joint, left, &rest_task, &rest);
    joint->cuttings = solved;
    joint->rest = rest;
    if (status == VBS_OK)
        status = try_cuttings(joint);
    if (status == VBS_OK && joint->n_repeats > 0)
        status = make_schedules(joint, first_trial);
    close_priced(&task, solved);
    close_priced(&rest_task, rest);
    vbs_profile_free(joint->profile);
    joint->n_done++;
    return status;
}

static enum vbs_status try_prices(struct joint *joint, const struct joint_pass *pass)
{
    for (int p = 0; p < pass->n_prices; p++)
        if (!is_late(joint))
            VBS_TRY(try_price(joint, PRICES[p]));
    return VBS_OK;
}

/* Whether few chunks can stand for all of the request: they are alike, for the bytes beside them do
 * not change, and no step is shared by two of them. */
static bool has_equal_chunks(const struct joint *joint)
{
    const struct vbs_task *task = joint->task;

    return task->request / joint->chunk > FEW_CHUNKS && task->n_layers > 1 &&
           task->problem.io == VBS_IO_EXTERNAL && task->latency_ticks == INT64_MAX;
}

/* Tries schedules on few chunks. Those that would be better than what is known are made. */
static enum vbs_status try_prices_on_few(struct joint *joint, const struct joint_pass *pass)
{
    struct vbs_problem problem = joint->task->problem;
    struct vbs_pareto_set found = {.has_totals_only = true, .tag = -1};
    struct vbs_task few;
    enum vbs_status status = VBS_OK;

    problem.request = FEW_CHUNKS * joint->chunk + joint->task->request % joint->chunk;
    VBS_TRY(vbs_task_init(joint->ctx, &few, &problem));
    for (int i = 0; status == VBS_OK && i < joint->pareto->n; i++)
        status = vbs_pareto_offer_timed(joint->ctx, &found, joint->pareto->list[i].bytes,
                                        joint->pareto->list[i].time_us, &(struct vbs_step_list){0});
    joint->tried = found.task = &few;
    joint->found = &found;
    joint->n_repeats = joint->task->request / joint->chunk - FEW_CHUNKS;
    if (status == VBS_OK)
        status = try_prices(joint, pass);
    try_whole_task(joint);
    vbs_pareto_clear(&found);
    vbs_task_clear(&few);
    return status;
}

static enum vbs_status try_pass(struct joint *joint, const struct joint_pass *pass)
{
    joint->is_coarse = pass->is_coarse;
    if (joint->task->problem.copy.bytes_per_us > 0)
        VBS_TRY(choose_units(joint, pass->whole, pass->max_units));
    if (joint->n_batches == 0)
        return VBS_OK;
    return has_equal_chunks(joint) ? try_prices_on_few(joint, pass) : try_prices(joint, pass);
}

/* Counts the solves of passes that are going to be tried. */
static void count_passes(struct joint *joint, const struct joint_pass *passes, int n)
{
    for (int i = 0; i < n; i++)
        joint->n_solves += passes[i].n_prices;
}

static enum vbs_status try_passes(struct joint *joint, const struct joint_pass *passes, int n)
{
    for (int i = 0; i < n; i++)
        VBS_TRY(try_pass(joint, &passes[i]));
    return VBS_OK;
}

/* ---- The others' plans ---- */

static enum vbs_status offer_plan(struct joint *joint, const struct vbs_planner *planner,
                                  void *self, int64_t memory_bytes)
{
    struct vbs_draft draft = {0};
    enum vbs_status status = vbs_check_cancel(joint->ctx);

    if (status == VBS_OK)
        status = planner->plan(joint->ctx, self, memory_bytes, &draft);
    if (status == VBS_OK)
        status = vbs_trial_offer(joint->ctx, draft.reserved_bytes, &draft.steps, joint->pareto);
    vbs_step_list_clear(&draft.steps);
    return status == VBS_INFEASIBLE ? VBS_OK : status;
}

/* Offers the plan of every budget at which planner's may change; for a large request in limited
 * time only that of the largest budget that matters and some others. */
static enum vbs_status offer_plans(struct joint *joint, const struct vbs_planner *planner,
                                   const struct vbs_task *task)
{
    void *self = NULL;
    int64_t *bytes = NULL;
    int n = 0, stride;
    enum vbs_status status;

    VBS_TRY(planner->open(joint->ctx, task, &self));
    status = planner->thresholds(joint->ctx, self, &bytes, &n);
    while (n > 1 && is_above(joint, bytes[n - 1]))
        n--;
    stride = vbs_trial_stride(task, n);
    if (joint->until_s > 0 && task->request > MAX_CHUNK && stride < n / MAX_OFFERS + 1)
        stride = n / MAX_OFFERS + 1;
    for (int i = n - 1; status == VBS_OK && i >= 0 && !vbs_task_is_late(task); i--)
        if (vbs_trial_is_made(i, n, stride))
            status = offer_plan(joint, planner, self, bytes[i]);
    free(bytes);
    planner->close(self);
    return status;
}

/* The schedules of planners that transfer weights; under a time limit until a time. */
static enum vbs_status offer_transfers(struct joint *joint, double until_s)
{
    struct vbs_task beside = *joint->task;

    if (joint->until_s > 0)
        beside.cut_until_s = until_s;
    VBS_TRY(offer_plans(joint, &vbs_planner_vdnn, &beside));
    return offer_plans(joint, &vbs_planner_mmcnn, &beside);
}

/*
 * The schedules of dp-vbs+ beside resident weights, until a time; 0: all. Where the curves of a
 * large request take too much memory, dp-vbs+ has no schedule either, and fbs-best stands in. Where
 * weights can be copied, the least budget is not that of resident weights, and no budget above the
 * largest one matters.
 */
static enum vbs_status offer_resident(struct joint *joint, double until_s)
{
    const struct vbs_task *task = joint->task;
    struct vbs_task beside = *task;
    enum vbs_status status;

    beside.resident = &vbs_planner_dp_vbs_plus;
    if (task->request > 2 * MAX_CHUNK && task->latency_ticks == INT64_MAX)
        beside.exact_samples = MAX_CHUNK;
    beside.cut_until_s = until_s;
    if (task->request <= MAX_CHUNK || task->problem.copy.bytes_per_us <= 0 ||
        task->latency_ticks != INT64_MAX)
        beside.options.most_bytes = 0;
    status = offer_plans(joint, &vbs_planner_resident, &beside);
    if (status != VBS_NO_MEMORY || task->request <= MAX_CHUNK)
        return status;
    beside.resident = &vbs_planner_fbs_best;
    return offer_plans(joint, &vbs_planner_resident, &beside);
}

/* A request of at most MAX_CHUNK samples, which is one chunk. */
static enum vbs_status try_small(struct joint *joint)
{
    static const struct joint_pass PASS = {false, MAX_CHUNK, N_PRICES, false};
    double limit_s = joint->until_s - joint->from_s;

    VBS_TRY(offer_resident(joint, joint->until_s > 0 ? joint->from_s + limit_s / 6 : 0));
    VBS_TRY(offer_transfers(joint, joint->from_s + limit_s / 3));
    count_passes(joint, &PASS, 1);
    return try_passes(joint, &PASS, 1);
}

static enum vbs_status try_large(struct joint *joint)
{
    int n_coarse = joint->task->options.most_bytes > 0 ? N_COARSE_PASSES - 2 : 0;

    count_passes(joint, COARSE_PASSES, n_coarse);
    count_passes(joint, FULL_PASSES, N_FULL_PASSES);
    VBS_TRY(try_passes(joint, COARSE_PASSES, n_coarse));
    VBS_TRY(offer_resident(joint, 0));
    VBS_TRY(offer_transfers(joint, 0));
    return try_passes(joint, FULL_PASSES, N_FULL_PASSES);
}

/* A large request under a time limit: last comes dp-vbs+ beside resident weights, whose time grows
 * with the square of the request. */
static enum vbs_status try_large_in_time(struct joint *joint)
{
    count_passes(joint, COARSE_PASSES, N_COARSE_PASSES);
    count_passes(joint, FULL_PASSES, N_FULL_PASSES);
    VBS_TRY(try_passes(joint, COARSE_PASSES, N_COARSE_PASSES));
    VBS_TRY(try_passes(joint, FULL_PASSES, N_FULL_PASSES));
    if (!is_late(joint))
        VBS_TRY(offer_transfers(joint, joint->until_s));
    if (!is_late(joint))
        VBS_TRY(offer_resident(joint, joint->until_s));
    return VBS_OK;
}

static enum vbs_status try_all(struct joint *joint)
{
    if (joint->task->request <= MAX_CHUNK)
        return try_small(joint);
    return joint->until_s > 0 ? try_large_in_time(joint) : try_large(joint);
}

static void choose_slice_bytes(struct joint *joint)
{
    const struct vbs_link *copy = &joint->task->problem.copy;
    double bytes = LATENCIES_IN_SLICE * copy->latency_us * copy->bytes_per_us;

    joint->slice_bytes = bytes <= (double)LEAST_SLICE_BYTES  ? LEAST_SLICE_BYTES
                         : bytes >= (double)MOST_SLICE_BYTES ? MOST_SLICE_BYTES
                                                             : (int64_t)bytes;
}

static void choose_last_slice(struct joint *joint)
{
    int64_t bytes = vbs_task_lightest_bytes(joint->task) / LAST_SLICE_SHARE;

    joint->last_slice_bytes = bytes < 1 ? 1 : bytes < LAST_SLICE_BYTES ? bytes : LAST_SLICE_BYTES;
    joint->most_doublings = VBS_MAX_ALGORITHMS / joint->task->profile->n_algorithms;
    if (joint->most_doublings > MAX_DOUBLINGS)
        joint->most_doublings = MAX_DOUBLINGS;
}

/* Whether any row tells in how many slices it runs. */
static bool tells_slices(const struct vbs_profile *profile)
{
    for (int k = 1; k <= profile->n_layers; k++)
        for (int i = 0; i < profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                if (rows[a].n_slices > 0)
                    return true;
        }
    return false;
}

static enum vbs_status joint_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct joint joint = {.ctx = ctx, .task = task, .pareto = pareto};
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    joint.from_s = joint.reported_s = vbs_clock_s();
    if (task->options.time_limit_s > 0 && task->problem.copy.bytes_per_us > 0)
        joint.until_s = joint.from_s + task->options.time_limit_s;
    try_whole_task(&joint);
    choose_slice_bytes(&joint);
    choose_last_slice(&joint);
    joint.counts_units = tells_slices(task->profile);
    status = try_all(&joint);
    free(joint.trials.list);
    vbs_arena_clear(&joint.arena);
    if (status == VBS_INTERRUPTED && pareto->n > 0) {
        pareto->interrupted = true; /* the best of the schedules so far */
        status = VBS_OK;
    }
    if (status != VBS_OK) {
        vbs_pareto_close(pareto);
        return status;
    }
    *self = pareto;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_joint = {
    .name = "joint",
    .summary = "batches, resident and streamed weights, slices and prefetch under one budget",
    .source = "vbslab",
    .cost = "that of dp-vbs+ for each price of a copy, then budgets tried x steps x log steps",
    .transfers = true,
    .open = joint_open,
    .bracket = vbs_transfer_bracket,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .close = vbs_pareto_close,
};
