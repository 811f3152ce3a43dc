/*
 * joint: the rows of the priced profile, and the slices and units on which they are made.
 */
#include "plan/weights/joint.h"
#include "plan/weights/stream.h"
#include "plan/weights/trial.h"

#include "base/fail.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdio.h>

/* A slice is so large that the latency of a copy is a 128th of its time, but within the least and
 * the most bytes. Where memory is tight the recursion also tries halves, quarters and so on, down
 * to the last size: smaller slices make long schedules and save little memory. */
#define LEAST_SLICE_BYTES  ((int64_t)256 << 10)
#define MOST_SLICE_BYTES   ((int64_t)8 << 20)
#define LAST_SLICE_BYTES   ((int64_t)32 << 10)
#define LAST_SLICE_SHARE   16384 /* the last size is at most all weights divided by this */
#define LATENCIES_IN_SLICE 128
#define MOST_HALVINGS      3  /* of the samples of one row */
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
/* Layers are delayed for a part of the request at a time. */
#define DELAYED_PARTS 4

/* The name of a row of the priced profile: the number of its kind, in the order of the algorithms,
 * for a profile sorts its algorithms by name. */
static void name_kind(char *name, size_t size, int kind)
{
    snprintf(name, size, "%08d", kind);
}

static int kind_number(const struct joint *joint, const struct row_kind *kind)
{
    return (kind->algorithm * joint->most_doublings + kind->doublings) * (MOST_HALVINGS + 1) +
           kind->halvings;
}

/* Makes the index from algorithms of the current priced profile to kinds of rows. */
static enum vbs_status find_kinds(struct joint *joint)
{
    int n_algorithms = joint->task->profile->n_algorithms;
    int n_kinds = n_algorithms * joint->most_doublings * (MOST_HALVINGS + 1);

    joint->kinds =
        vbs_arena_alloc(&joint->arena, (size_t)joint->profile->n_algorithms, sizeof *joint->kinds);
    if (!joint->kinds)
        return vbs_no_memory(joint->ctx);
    for (int i = 0; i < n_kinds; i++) {
        char name[16];
        int at;

        name_kind(name, sizeof name, i);
        at = vbs_profile_algorithm(joint->profile, name);
        if (at >= 0)
            joint->kinds[at] = (struct row_kind){
                .algorithm = i / (MOST_HALVINGS + 1) / joint->most_doublings,
                .doublings = i / (MOST_HALVINGS + 1) % joint->most_doublings,
                .halvings = i % (MOST_HALVINGS + 1),
            };
    }
    return VBS_OK;
}

int vbs_joint_slices(const struct joint *joint, int layer, const struct vbs_profile_row *row,
                     int doublings)
{
    const struct vbs_profile_layer *l = &joint->task->profile->layers[layer];
    int64_t limit = vbs_slice_limit(l, row->weight_bytes);
    int64_t n_slices = (row->weight_bytes + joint->slice_bytes - 1) / joint->slice_bytes;

    if (vbs_row_most_slices(l, row) <= 1)
        doublings = 0; /* its weights may be loaded in slices all the same */
    /* A row that was measured in slices runs whole, then in its slices with the next one being
     * loaded, then in its slices without. */
    if (row->n_slices > 0)
        return doublings == 0 ? 1 : row->n_slices;
    if (row->weight_bytes / joint->last_slice_bytes < limit)
        limit = row->weight_bytes / joint->last_slice_bytes;
    n_slices = (n_slices < 1 ? 1 : n_slices) << doublings;
    return (int)(n_slices < limit ? n_slices : limit < 1 ? 1 : limit);
}

const struct vbs_profile_row *vbs_joint_piece(const struct vbs_task *task, int layer, int batch,
                                              int algorithm, int format)
{
    const struct vbs_profile_row *best = NULL, *rows;
    int n_rows;

    rows = vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        if (rows[a].algorithm == algorithm)
            return &rows[a];
        if (rows[a].format == format && (!best || rows[a].time_us < best->time_us))
            best = &rows[a];
    }
    return best;
}

/* As vbs_joint_compose; mixed: pieces without the algorithm run on others. */
static bool compose(const struct vbs_task *task, int layer, int batch, int most, int algorithm,
                    bool mixed, struct vbs_profile_row *sum)
{
    bool first = true;

    for (int left = batch, b; left > 0; left -= b) {
        const struct vbs_profile_row *row;

        b = vbs_trial_batch(task, left < most ? left : most);
        row = vbs_joint_piece(task, layer, b, algorithm, first ? -1 : sum->format);
        if (!row || (row->algorithm != algorithm && (first || !mixed)) ||
            (!first && row->format != sum->format))
            return false;
        if (first)
            *sum = *row;
        else {
            if (row->n_slices != sum->n_slices)
                sum->n_slices = 1;
            sum->time_us += row->time_us;
            if (row->ws_bytes > sum->ws_bytes)
                sum->ws_bytes = row->ws_bytes;
        }
        first = false;
    }
    return true;
}

int vbs_joint_most_samples(int batch, int halvings)
{
    return (batch - 1) / (1 << halvings) + 1;
}

bool vbs_joint_compose(const struct vbs_task *task, int layer, int batch, int most, int algorithm,
                       struct vbs_profile_row *sum)
{
    int n_rows;
    const struct vbs_profile_row *rows;
    struct vbs_profile_row other;

    if (compose(task, layer, batch, most, algorithm, false, sum))
        return true;
    rows = vbs_profile_rows(task->profile, layer, task->batch_index[vbs_trial_batch(task, most)],
                            &n_rows);
    for (int a = 0; a < n_rows; a++)
        if (compose(task, layer, batch, most, rows[a].algorithm, false, &other))
            return false;
    return compose(task, layer, batch, most, algorithm, true, sum);
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

/* The price of a load, however few bytes it has. */
static double load_us(const struct joint *joint)
{
    return fmax(joint->price, LEAST_LATENCY_PRICE) * joint->task->problem.copy.latency_us;
}

/* The price of a microsecond of the copy of a layer's weights: what is not paid runs beside
 * computing, mostly the layer's own, and delays it. */
static double byte_price(const struct joint *joint, int layer)
{
    return joint->price + (1 - joint->price) * vbs_task_hidden_price(joint->task, layer);
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
    priced.time_us += load_us(joint) * n_slices + byte_price(joint, layer) *
                                                      (double)row->weight_bytes /
                                                      joint->task->problem.copy.bytes_per_us;
    if (n_slices > 1 && row->n_slices == 0)
        priced.time_us += row->time_us * fine_slices_share(joint, l, n_slices);
    priced.time_us = fmin(priced.time_us, VBS_MAX_TIME_US);
    return priced;
}

static enum vbs_status add_priced(struct joint *joint, struct vbs_profile_builder *builder,
                                  int layer, int batch, const struct vbs_profile_row *row,
                                  int halvings)
{
    const struct vbs_profile_layer *l = &joint->task->profile->layers[layer];
    bool divides = row->weight_bytes > 0 && vbs_row_most_slices(l, row) > 1;
    int most = divides ? vbs_joint_slices(joint, layer, row, MAX_DOUBLINGS) : 1;
    bool last = false;

    for (int d = 0; d < joint->most_doublings && !last; d++) {
        struct row_kind kind = {row->algorithm, d, halvings};
        int n_slices = divides ? vbs_joint_slices(joint, layer, row, d) : 1;
        struct vbs_profile_row priced;
        char name[32];

        last = n_slices == most && (most == 1 || row->n_slices == 0 || d == 2);
        priced = price_row(joint, layer, row, n_slices, last);
        name_kind(name, sizeof name, kind_number(joint, &kind));
        VBS_TRY(vbs_profile_builder_row(joint->ctx, builder, layer, batch, name, &priced));
    }
    return VBS_OK;
}

/* Adds the rows of steps of at most so many samples that share one copy of the weights. A step with
 * less workspace than the steps with more samples is worth while; others are left out. */
static enum vbs_status add_halved(struct joint *joint, struct vbs_profile_builder *builder,
                                  int layer, int batch, int samples, int algorithm)
{
    int64_t least_ws = INT64_MAX;

    for (int h = 0; h <= MOST_HALVINGS; h++) {
        struct vbs_profile_row row;

        if (!vbs_joint_compose(joint->task, layer, samples, vbs_joint_most_samples(samples, h),
                               algorithm, &row) ||
            row.ws_bytes >= least_ws)
            continue;
        least_ws = row.ws_bytes;
        VBS_TRY(add_priced(joint, builder, layer, batch, &row, h));
        if (row.weight_bytes == 0)
            break;
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
    for (int a = 0; a < n_rows; a++)
        VBS_TRY(add_halved(joint, builder, layer, batch, samples, rows[a].algorithm));
    return VBS_OK;
}

/* How often the bytes of a tensor count: what delayed layers read waits in memory for them while
 * the layers before make as much for the samples that follow. */
static int times_held(const struct joint *joint, int tensor)
{
    return tensor > 0 && tensor < joint->delayed_from &&
                   joint->task->last_reader[tensor] >= joint->delayed_from
               ? 2
               : 1;
}

/* Turns a layer's bytes of one sample into the bytes of a unit. */
static void scale_layer(void *self, int k, struct vbs_profile_layer *layer)
{
    const struct joint *joint = self;
    const struct vbs_profile_layer *layers = joint->task->profile->layers;

    for (int i = 0; i < layer->n_inputs; i++)
        layer->in_bytes +=
            (times_held(joint, layer->inputs[i]) - 1) * layers[layer->inputs[i]].out_bytes;
    layer->out_bytes *= times_held(joint, k) * joint->grain;
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

/* Gives whether each layer has an algorithm, or several that read one packed format, for so many
 * units: rows of different batches may have no format in common. */
static bool can_be_composed(const struct joint *joint, int units)
{
    const struct vbs_task *task = joint->task;
    int samples = units * joint->grain < joint->chunk ? units * joint->grain : joint->chunk;
    int first = task->batch_index[vbs_trial_batch(task, samples)];

    for (int k = 1; k <= task->profile->n_layers; k++) {
        struct vbs_profile_row sum;
        int n_rows, a = 0;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, k, first, &n_rows);

        while (a < n_rows && !vbs_joint_compose(task, k, samples, samples, rows[a].algorithm, &sum))
            a++;
        if (a == n_rows)
            return false;
    }
    return true;
}

enum vbs_status vbs_joint_choose_units(struct joint *joint, bool whole, int max_units)
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
        if (tries_units(joint, u) && can_be_composed(joint, u))
            joint->batches[joint->n_batches++] = u;
    return VBS_OK;
}

/* Whether sums of bytes fit in 63 bits where all tensors count twice. */
static bool can_hold_twice(const struct joint *joint)
{
    const struct vbs_profile *profile = joint->task->profile;
    int64_t left = INT64_MAX / VBS_MAX_REQUEST / 4;

    for (int k = 1; k <= profile->n_layers && left >= 0; k++)
        left -= profile->layers[k].in_bytes / 2 + profile->layers[k].out_bytes / 2;
    return left >= 0;
}

int vbs_joint_delayed_from(const struct joint *joint)
{
    const struct vbs_task *task = joint->task;
    int samples = task->request / DELAYED_PARTS, from = 0;
    double excess_us = 0, most_us = 0;

    if (task->request < 2 || task->problem.copy.bytes_per_us <= 0 || !can_hold_twice(joint))
        return 0;
    samples = vbs_trial_batch(task, samples < 1 ? 1 : samples);
    for (int k = task->n_layers; k > 1; k--) {
        int n_rows;
        const struct vbs_profile_row *rows =
            vbs_profile_rows(task->profile, k, task->batch_index[samples], &n_rows);
        double least_us = HUGE_VAL;
        int64_t bytes = vbs_task_layer_lightest_bytes(task, k);

        for (int a = 0; a < n_rows; a++)
            least_us = fmin(least_us, rows[a].time_us);
        excess_us += (bytes > 0 ? vbs_task_copy_us(task, bytes) : 0) - least_us;
        if (excess_us > most_us) {
            most_us = excess_us;
            from = k;
        }
    }
    return from;
}

enum vbs_status vbs_joint_price(struct joint *joint, double price)
{
    struct vbs_derivation derivation = {.self = joint,
                                        .layer = scale_layer,
                                        .rows = priced_rows,
                                        .n_batches = joint->n_batches,
                                        .batches = joint->batches};
    enum vbs_status status;

    joint->price = price;
    joint->rows = (struct vbs_rows_source){
        .task = joint->task,
        .load_us = load_us(joint),
        .byte_us = price / joint->task->problem.copy.bytes_per_us,
    };
    VBS_TRY(vbs_profile_derive(joint->ctx, joint->task->profile, &derivation, &joint->profile));
    status = find_kinds(joint);
    if (status != VBS_OK) {
        vbs_profile_free(joint->profile);
        joint->profile = NULL;
    }
    return status;
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
    joint->most_doublings =
        VBS_MAX_ALGORITHMS / (MOST_HALVINGS + 1) / joint->task->profile->n_algorithms;
    if (joint->most_doublings > MAX_DOUBLINGS)
        joint->most_doublings = MAX_DOUBLINGS;
}

/* Whether any row says in how many slices it runs. */
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

void vbs_joint_choose_slices(struct joint *joint)
{
    choose_slice_bytes(joint);
    choose_last_slice(joint);
    joint->counts_units = tells_slices(joint->task->profile);
}
