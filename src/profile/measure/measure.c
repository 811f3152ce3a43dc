/*
 * The loop that measures kernels in place, layer after layer as inference runs them.
 *
 * A pass runs all layers in network order at one batch, one algorithm each, so that each layer
 * finds caches and weights as inference leaves them. A round visits in shuffled order every batch
 * that still needs runs, so that slow drifts of the machine meet all batches alike. Within a layer
 * the algorithm with the most pressing need goes next, then the one with the fewest runs. Ties are
 * decided at random, so that the turns of different layers are independent. The first pass at a
 * batch is for warming up.
 *
 * A schedule runs the same kernels again and again, and each finds of its weights what the caches
 * have kept since the last time. After a pass of another batch or of other algorithms it would find
 * none of them, and be up to a tenth slower. So a pass runs twice, and the second time is counted.
 *
 * With save_runs a pass runs once, where it follows one of a batch that is not much larger, and
 * only times of layers count that ran last with the same weights. Rounds go up and down the
 * batches, each for the most pressing need of all, and a pass ends behind the last layer that has
 * it.
 *
 * Kernels on rows have passes of their own, one kind for each number of rows, and run on the middle
 * of a sample. Where samples pass layers by rows, a layer comes back after a few steps of the
 * layers around it, and finds its inputs, its weights and its window in the caches as far as these
 * steps have left them there. So the two layers before it and the layer itself run once more before
 * a stripe is timed. The first step of a layer in a sample finds its weights outside the caches, as
 * the first of these runs does; it counts as one step of as many as the layer takes for a sample.
 *
 * Times are held back, one stretch of layers at a time, and go to the sink once it is known whether
 * the machine was disturbed during the stretch (noise.c). Disturbed times are counted and dropped,
 * unless the kernel has too few others, or its dropped times would outnumber them: a machine that
 * is busy or has become slower for good is measured as it is, and passes in the end always bring
 * something. Posterior times (posterior.h) follow the undisturbed ones of a few times.
 *
 * The backend times whole runs, each of one execution. Kernels that are so short that the clock or
 * the system's noise matters get more runs until their interval is tight; they are never run in a
 * hot loop.
 */
#include "profile/measure/measure.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "profile/reach.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdio.h>
#include <sys/resource.h>

#define N_AROUND  2 /* layers that run before a stripe is timed */
#define MOST_STEP 2 /* from the batch of a pass down to that of the next one, if that runs once */

struct pass_times {
    int n_passes; /* in this process, with those for warming up */
    double total_s;
};

struct measuring {
    struct vbs_ctx *ctx;
    struct vbs_session *session;
    const struct vbs_sample_sink *sink;
    const struct vbs_measure_clock *clock;
    struct vbs_measure_report report;

    struct vbs_table table;
    struct vbs_pass_buffers buffers;
    struct vbs_stretch stretch;
    struct vbs_weather weather;
    struct pass_times *passes; /* [n_passes], by kind */
    double *pass_seconds;      /* [n_passes] scratch */
    int *chosen;               /* [0..n_layers] kernels of a pass; -1: none */
    int recent[N_AROUND];      /* kernels of the last layers of a pass by rows */
    const void **src;          /* [most inputs of a layer] */
    bool keeps_limit;          /* fewer runs than min_runs, where the limit has no time for them */
    bool is_limited; /* the limit holds: batches for which there is no time are left out */
    bool may_end;    /* every layer has a time at batch 1, so that there can be a profile */

    gsl_rng rng;
    int round;
    enum vbs_need level; /* the needs that the round is for, and more pressing ones */
    int last_batch;      /* of the last pass; 0: there was none */
    double start_s;
    double progress; /* largest fraction reported so far */
    struct vbs_arena arena;
};

static double elapsed_s(const struct measuring *m)
{
    return m->clock->now_s(m->clock->self) - m->start_s;
}

static int64_t n_preemptions(const struct measuring *m)
{
    return m->clock->n_preemptions(m->clock->self);
}

/* ---- Times ---- */

static enum vbs_status record_time(struct measuring *m, int kernel, double time_us)
{
    if (m->table.runs[kernel].summary.n_runs >= m->table.options.max_runs)
        return VBS_OK;
    VBS_TRY(m->sink->add(m->ctx, m->sink->self, kernel, m->round, time_us));
    m->report.n_samples++;
    return vbs_table_append(m->ctx, &m->table, kernel, time_us);
}

/* Measures the speed of the last-level cache, if it is time. */
static void look_at_weather(struct measuring *m)
{
    double (*cache_speed)(const struct vbs_session *) = m->session->ops->cache_speed;

    if (cache_speed && vbs_weather_is_due(&m->weather, elapsed_s(m)))
        vbs_weather_add(&m->weather, elapsed_s(m), cache_speed(m->session));
}

static enum vbs_status close_stretch(struct measuring *m)
{
    bool was_slow = m->weather.is_slow, all;
    enum vbs_status status = VBS_OK;

    look_at_weather(m);
    all = was_slow || m->weather.is_slow || vbs_stretch_is_disturbed(&m->stretch);
    for (int i = 0; i < m->stretch.n_times && status == VBS_OK; i++) {
        const struct vbs_held_time *held = &m->stretch.times[i];
        struct vbs_runs *runs = &m->table.runs[held->kernel];

        if ((all || vbs_held_is_disturbed(held)) && runs->summary.n_runs >= VBS_JUDGED_RUNS &&
            runs->n_rejected < runs->summary.n_runs) {
            runs->n_rejected++;
            m->report.n_rejected++;
        } else {
            status = record_time(m, held->kernel, held->time_us);
        }
    }
    vbs_stretch_close(&m->stretch);
    return status;
}

/* ---- Passes ---- */

static enum vbs_status interrupted(struct measuring *m)
{
    return vbs_fail(m->ctx, VBS_INTERRUPTED, "interrupted");
}

/* Gives the address of a row of the first sample of a tensor. */
static char *row_address(const struct measuring *m, int tensor, int64_t row)
{
    const struct vbs_profile_layer *layer = &m->session->layers[tensor];
    char *sample = m->buffers.slots[m->buffers.slot_of[tensor]];

    return row == 0 || vbs_layer_accumulates(layer) ? sample
                                                    : sample + layer->out_bytes / layer->rows * row;
}

/* Finds the operands of a kernel. A stripe is one in the middle of the layer, as most are. */
static void find_operands(struct measuring *m, const struct vbs_kernel *k,
                          struct vbs_operands *operands)
{
    const struct vbs_profile_layer *layer = &m->session->layers[k->layer];
    int64_t row = k->rows > 0 ? layer->rows / k->rows / 2 * k->rows : 0;

    for (int i = 0; i < layer->n_inputs; i++) {
        int input = layer->inputs[i];
        int64_t first = 0;

        if (k->rows > 0)
            first = vbs_reach_rows(&layer->reaches[i], m->session->layers[input].rows, row, k->rows)
                        .first;
        m->src[i] = row_address(m, input, first);
    }
    operands->dst = row_address(m, k->layer, row);
    operands->ws = k->ws_bytes > 0 ? m->buffers.scratch : NULL;
}

static enum vbs_status run_kernel(struct measuring *m, int kernel, double *time_us)
{
    const struct vbs_kernel *k = &m->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &m->session->layers[k->layer];
    struct vbs_operands operands = {.src = m->src};

    if (!m->session->modelled)
        find_operands(m, k, &operands);
    VBS_TRY(m->session->ops->run(m->ctx, m->session, kernel, &operands, time_us));
    if (!(isfinite(*time_us) && *time_us >= 0))
        return vbs_fail(m->ctx, VBS_LIBRARY,
                        "layer '%s': '%s' at batch %d reported a time of %g us", layer->name,
                        k->algorithm, k->batch, *time_us);
    return VBS_OK;
}

/* Does the same, and counts the time. */
static enum vbs_status run_counted(struct measuring *m, int kernel, double *time_us)
{
    VBS_TRY(run_kernel(m, kernel, time_us));
    m->report.timed_s += *time_us * 1e-6;
    return VBS_OK;
}

static enum vbs_status fill_input(struct measuring *m, int n)
{
    return m->session->ops->fill(m->ctx, m->session, 0, n, m->buffers.slots[m->buffers.slot_of[0]]);
}

/* Runs a stripe, and then those of the layers before it, so that it can be timed as the next step.
 * Gives the time of the first run, for which the weights come from memory. */
static enum vbs_status run_around(struct measuring *m, int kernel, int n_recent, double *first_us)
{
    double time_us;

    VBS_TRY(run_counted(m, kernel, first_us));
    for (int i = n_recent < N_AROUND ? 0 : n_recent - N_AROUND; i < n_recent; i++)
        VBS_TRY(run_counted(m, m->recent[i % N_AROUND], &time_us));
    m->recent[n_recent % N_AROUND] = kernel;
    return VBS_OK;
}

/* Gives the mean time of the steps of a sample, of which the first one takes first_us. */
static double mean_of_steps(const struct measuring *m, int kernel, double first_us, double time_us)
{
    const struct vbs_kernel *k = &m->session->kernels[kernel];
    int64_t rows = m->session->layers[k->layer].rows, n = (rows + k->rows - 1) / k->rows;

    return time_us + (first_us - time_us) / (double)n;
}

/* Chooses the kernels of a pass. Layers of equal geometry choose different ones, where runs are
 * saved. */
static void choose_kernels(struct measuring *m, int p, enum vbs_need most)
{
    for (int layer = 1; layer <= m->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(&m->table, layer, p);

        m->chosen[layer] =
            group->count > 0 ? vbs_table_choose(&m->table, group, most, &m->rng) : -1;
        if (m->chosen[layer] >= 0)
            m->table.pools[m->table.pool_of[m->chosen[layer]]].n_planned++;
    }
    for (int layer = 1; layer <= m->session->n_layers; layer++)
        if (m->chosen[layer] >= 0)
            m->table.pools[m->table.pool_of[m->chosen[layer]]].n_planned = 0;
}

/* Returns whether the kernel that is chosen for a layer meets a need of the pass. */
static bool is_needed(const struct measuring *m, int p, int layer, enum vbs_need need)
{
    return m->chosen[layer] >= 0 &&
           vbs_table_kernel_need(&m->table, vbs_table_group(&m->table, layer, p), m->chosen[layer],
                                 need) == need;
}

/* Returns whether no time of a pass on whole samples would count if it ran only once: it comes
 * after a much larger batch, which left nothing of its samples in the caches, or all layers that
 * need runs find other weights than theirs. */
static bool is_cold(const struct measuring *m, int p, enum vbs_need need)
{
    if (m->last_batch == 0 || m->last_batch > MOST_STEP * m->table.passes[p].batch)
        return true;
    for (int layer = 1; layer <= m->session->n_layers; layer++)
        if (is_needed(m, p, layer, need) && vbs_table_is_warm(&m->table, m->chosen[layer]))
            return false;
    return true;
}

/* Ends the pass, where runs are saved, behind the last layer that needs one. */
static void cut_pass(struct measuring *m, int p, enum vbs_need need)
{
    for (int layer = m->session->n_layers; layer >= 1 && !is_needed(m, p, layer, need); layer--)
        m->chosen[layer] = -1;
}

/* Returns whether the time is up where the limit holds. */
static bool is_late(const struct measuring *m)
{
    return m->is_limited && elapsed_s(m) > m->table.options.most_s;
}

/* Returns whether the time of a kernel counts in a pass: of passes that run once, that of one which
 * finds its weights as in a run again and again. Where the first pass ends behind the limit, the
 * time is taken as it is. */
static bool does_count(const struct measuring *m, int p, int kernel, bool record, bool late)
{
    return late || (record && (!m->table.options.save_runs || m->table.passes[p].rows > 0 ||
                               vbs_table_is_warm(&m->table, kernel)));
}

/* Runs the kernels that are chosen. Where the limit holds, the pass ends with it; before there can
 * be a profile, only kernels that have a time are passed over. */
static enum vbs_status run_layers(struct measuring *m, int p, bool record)
{
    int n_recent = 0;

    for (int layer = 1; layer <= m->session->n_layers; layer++) {
        int kernel = m->chosen[layer];
        bool late = is_late(m), counts;
        int64_t n_before;
        double time_us, first_us;

        if (vbs_cancelled(m->ctx))
            return interrupted(m);
        if (late && m->may_end)
            return VBS_OK;
        if (kernel < 0 || (late && m->table.runs[kernel].summary.n_runs > 0))
            continue;
        n_before = n_preemptions(m);
        if (m->table.passes[p].rows > 0)
            VBS_TRY(run_around(m, kernel, n_recent++, &first_us));
        VBS_TRY(run_counted(m, kernel, &time_us));
        if (m->table.passes[p].rows > 0)
            time_us = mean_of_steps(m, kernel, first_us, time_us);
        counts = does_count(m, p, kernel, record, late);
        m->table.last[layer] = kernel;
        if (counts && vbs_stretch_hold(&m->stretch, &m->table.runs[kernel], kernel, time_us,
                                       n_preemptions(m) > n_before))
            VBS_TRY(close_stretch(m));
    }
    return VBS_OK;
}

/* Does the same, with the network's input in its place, and hands the times to the sink, also those
 * before an interruption. */
static enum vbs_status run_from_input(struct measuring *m, int p, bool record)
{
    enum vbs_status status = VBS_OK, closed;

    if (m->buffers.input_overwritten)
        VBS_TRY(fill_input(m, m->table.passes[p].batch));
    status = run_layers(m, p, record);
    if ((!record && m->stretch.n_times == 0) || (status != VBS_OK && status != VBS_INTERRUPTED))
        return status;
    closed = close_stretch(m);
    return closed != VBS_OK ? closed : status;
}

static enum vbs_status measure_pass(struct measuring *m, int p, enum vbs_need most, bool record)
{
    double begin_s = elapsed_s(m);
    enum vbs_need need = vbs_table_need(&m->table, p, most);
    enum vbs_status status = VBS_OK;
    bool twice;

    choose_kernels(m, p, most);
    if (m->table.options.save_runs)
        cut_pass(m, p, need);
    twice = record && m->table.passes[p].rows == 0 &&
            (!m->table.options.save_runs || is_cold(m, p, need));
    if (twice)
        status = run_from_input(m, p, false);
    m->last_batch = m->table.passes[p].batch;
    if (status == VBS_OK)
        status = run_from_input(m, p, record);
    m->may_end = m->may_end || vbs_table_has_times(&m->table, 0);
    m->passes[p].n_passes++;
    m->passes[p].total_s += elapsed_s(m) - begin_s;
    return status;
}

/* ---- Time and progress ---- */

/* Gives the mean seconds of a pass; before the first one of its kind a guess from the batches of
 * the others, < 0 without any. */
static double pass_s(const struct measuring *m, int p)
{
    double known_s = 0, known_samples = 0;

    if (m->passes[p].n_passes > 0)
        return m->passes[p].total_s / m->passes[p].n_passes;
    for (int i = 0; i < m->table.n_passes; i++) {
        known_s += m->passes[i].total_s;
        known_samples += (double)m->passes[i].n_passes * m->table.passes[i].batch;
    }
    return known_samples > 0 ? known_s / known_samples * m->table.passes[p].batch : -1;
}

/* Gives whether a further pass would end after a limit. */
static bool time_is_up(const struct measuring *m, int p, double limit_s)
{
    return elapsed_s(m) + fmax(0, pass_s(m, p)) > limit_s;
}

/* Estimates the seconds to the end: those that the needs take, at most up to the limit, but at
 * least those of least_runs. */
static double left_s(const struct measuring *m)
{
    double needed_s = 0, least_s = 0;

    for (int p = 0; p < m->table.n_passes; p++) {
        double once_s = pass_s(m, p);

        if (once_s < 0)
            return -1;
        needed_s += once_s * vbs_table_passes_left(&m->table, p, false);
        least_s += once_s * vbs_table_passes_left(&m->table, p, true);
    }
    return fmin(needed_s, fmax(least_s, m->table.options.time_limit_s - elapsed_s(m)));
}

static void report_progress(struct measuring *m, int p)
{
    const struct vbs_pass *pass = &m->table.passes[p];
    const struct vbs_progress *progress = &m->table.options.progress;
    double elapsed = elapsed_s(m), left;
    char text[VBS_DETAIL_SIZE], late[80] = "";

    if (!progress->report)
        return;
    left = left_s(m);
    if (left >= 0 && elapsed + left > 0)
        m->progress = fmax(m->progress, elapsed / (elapsed + left));
    if (elapsed > m->table.options.time_limit_s)
        snprintf(late, sizeof late, ", past limit: %d run%s of each come%s first",
                 m->table.least_runs, m->table.least_runs == 1 ? "" : "s",
                 m->table.least_runs == 1 ? "s" : "");
    snprintf(text, sizeof text, pass->rows > 0 ? "%s stripes of %d row%s%s" : "%s batch %d%s%s",
             m->session->provenance.model, pass->rows > 0 ? pass->rows : pass->batch,
             pass->rows > 1 ? "s" : "", late);
    progress->report(progress->self, m->progress, left, text);
}

/* ---- The whole ---- */

/* Returns the most pressing need of all passes. */
static enum vbs_need most_pressing(const struct measuring *m)
{
    enum vbs_need pressing = VBS_NEEDS_NOTHING;

    for (int p = 0; p < m->table.n_passes && pressing > VBS_NEEDS_COARSE; p++) {
        enum vbs_need need = vbs_table_need(&m->table, p, VBS_NEEDS_TIGHTER);

        pressing = need < pressing ? need : pressing;
    }
    return pressing;
}

/* Makes a pass of kind p if it is needed, and before the first one a pass for warming up. */
static enum vbs_status visit(struct measuring *m, int p, bool *visited)
{
    *visited = false;
    while (!*visited) {
        bool warm = m->table.options.save_runs || m->passes[p].n_passes > 0;
        bool hurry = time_is_up(m, p, m->table.options.time_limit_s);
        bool ends = m->is_limited && m->may_end && time_is_up(m, p, m->table.options.most_s);
        enum vbs_need most = hurry && m->level > VBS_NEEDS_RUNS ? VBS_NEEDS_RUNS : m->level;

        if (ends || (hurry && m->table.is_covered) ||
            vbs_table_need(&m->table, p, most) == VBS_NEEDS_NOTHING)
            return VBS_OK;
        VBS_TRY(measure_pass(m, p, most, warm));
        report_progress(m, p);
        *visited = warm;
    }
    return VBS_OK;
}

/* Orders the kinds of passes for the next round. Without save_runs all of them are shuffled. With
 * it, a round is for the most pressing need; it goes up the batches or down, so that neighbours
 * have much in common, and the next one back. */
static void begin_round(struct measuring *m, int *order)
{
    int n = m->table.n_passes;

    m->level = VBS_NEEDS_TIGHTER;
    if (!m->table.options.save_runs) {
        gsl_ran_shuffle(&m->rng, order, (size_t)n, sizeof *order);
        return;
    }
    vbs_table_weigh(&m->table);
    m->level = most_pressing(m);
    m->table.is_covered = m->table.is_covered || m->level > VBS_NEEDS_RUNS;
    for (int i = 0; i < n; i++)
        order[i] = m->round % 2 ? n - 1 - i : i;
}

/* Sets the runs that every kernel gets, after a round in which each kind of pass was made. */
static void set_least_runs(struct measuring *m)
{
    if (!m->keeps_limit || m->table.options.save_runs)
        return;
    for (int p = 0; p < m->table.n_passes; p++)
        m->pass_seconds[p] = pass_s(m, p);
    m->table.least_runs = vbs_table_affordable_runs(&m->table, m->pass_seconds,
                                                    m->table.options.time_limit_s - elapsed_s(m));
}

static enum vbs_status run_rounds(struct measuring *m)
{
    size_t n = (size_t)m->table.n_passes;
    int *order = vbs_arena_alloc(&m->arena, n, sizeof *order);
    bool any = true;

    if (!order)
        return vbs_no_memory(m->ctx);
    for (size_t i = 0; i < n; i++)
        order[i] = (int)i;
    /* Stripes read what whole samples have written; the first pass at a batch is not timed. */
    if (m->table.passes[n - 1].rows > 0)
        VBS_TRY(measure_pass(m, 0, VBS_NEEDS_RUNS, false));
    for (m->round = 0; any; m->round++) {
        any = false;
        begin_round(m, order);
        for (size_t i = 0; i < n; i++) {
            bool visited;

            VBS_TRY(visit(m, order[i], &visited));
            any = any || visited;
        }
        set_least_runs(m);
    }
    return VBS_OK;
}

static enum vbs_status run_timed(struct measuring *m)
{
    int largest = m->table.largest_batch;
    bool needed = false;
    enum vbs_status status;

    for (int p = 0; p < m->table.n_passes; p++)
        needed = needed || vbs_table_need(&m->table, p, VBS_NEEDS_TIGHTER) != VBS_NEEDS_NOTHING;
    if (!needed)
        return VBS_OK;
    VBS_TRY(vbs_pass_buffers_init(m->ctx, m->session, largest, &m->buffers));
    status = fill_input(m, largest);
    m->may_end = vbs_table_has_times(&m->table, 0);
    if (status == VBS_OK)
        status = run_rounds(m);
    vbs_pass_buffers_release(m->session, &m->buffers);
    return status;
}

/* Measures a modelled session. Modelled times have no noise: each kernel is asked for one time, and
 * no tensor is touched. */
static enum vbs_status run_modelled(struct measuring *m)
{
    const struct vbs_progress *progress = &m->table.options.progress;

    for (int kernel = 0; kernel < m->session->n_kernels; kernel++) {
        double time_us;

        if (m->table.runs[kernel].summary.n_runs > 0)
            continue;
        if (vbs_cancelled(m->ctx))
            return interrupted(m);
        VBS_TRY(run_kernel(m, kernel, &time_us));
        VBS_TRY(record_time(m, kernel, time_us));
        if (progress->report)
            progress->report(progress->self, (kernel + 1.0) / m->session->n_kernels, -1,
                             m->session->provenance.model);
    }
    return VBS_OK;
}

static enum vbs_status resolve_options(struct vbs_ctx *ctx,
                                       const struct vbs_measure_options *options,
                                       struct vbs_measure_options *resolved, bool *keeps_limit)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_measure_options", options, resolved, sizeof *resolved));
    *keeps_limit = resolved->min_runs == 0 && (resolved->time_limit_s > 0 || resolved->save_runs);
    if (!(resolved->time_limit_s >= 0 && resolved->relative_interval >= 0 &&
          resolved->most_s >= 0 && resolved->min_runs >= 0 && resolved->max_runs >= 0))
        return vbs_fail(ctx, VBS_USAGE,
                        "time limit, interval and numbers of runs must not be negative");
    if (resolved->time_limit_s == 0)
        resolved->time_limit_s = VBS_MEASURE_S;
    if (resolved->relative_interval == 0)
        resolved->relative_interval = 0.02;
    if (resolved->min_runs == 0)
        resolved->min_runs = 5;
    if (resolved->max_runs == 0)
        resolved->max_runs = 50;
    if (resolved->max_runs < resolved->min_runs)
        resolved->max_runs = resolved->min_runs;
    return VBS_OK;
}

static enum vbs_status allocate(struct measuring *m)
{
    const struct vbs_session *session = m->session;
    int most_inputs = 1;

    for (int k = 1; k <= session->n_layers; k++)
        if (session->layers[k].n_inputs > most_inputs)
            most_inputs = session->layers[k].n_inputs;
    m->table.own_runs = !m->keeps_limit;
    m->table.leaves_out = m->table.options.save_runs && m->sink->leave_out != NULL;
    m->is_limited = m->table.options.most_s > 0 && m->table.leaves_out;
    m->table.least_runs =
        m->keeps_limit && m->table.options.save_runs ? 1 : m->table.options.min_runs;
    m->pass_seconds =
        vbs_arena_alloc(&m->arena, (size_t)m->table.n_passes, sizeof *m->pass_seconds);
    m->chosen = vbs_arena_alloc(&m->arena, (size_t)session->n_layers + 1, sizeof *m->chosen);
    m->src = vbs_arena_alloc(&m->arena, (size_t)most_inputs, sizeof *m->src);
    m->passes = vbs_arena_alloc(&m->arena, (size_t)m->table.n_passes, sizeof *m->passes);
    m->stretch.times =
        vbs_arena_alloc(&m->arena, (size_t)session->n_layers, sizeof *m->stretch.times);
    /* gsl_rng_alloc would end the program where memory is out. */
    m->rng.type = gsl_rng_taus2;
    m->rng.state = vbs_arena_alloc(&m->arena, 1, m->rng.type->size);
    if (!m->pass_seconds || !m->chosen || !m->src || !m->passes || !m->stretch.times ||
        !m->rng.state)
        return vbs_no_memory(m->ctx);
    gsl_rng_set(&m->rng, (unsigned long)m->table.options.seed);
    return m->table.options.save_runs && !session->modelled ? vbs_table_share(m->ctx, &m->table)
                                                            : VBS_OK;
}

static enum vbs_status take_up_stored(struct measuring *m)
{
    for (int kernel = 0; kernel < m->session->n_kernels; kernel++) {
        const double *times_us = NULL;
        int n = 0;

        VBS_TRY(m->sink->stored(m->ctx, m->sink->self, kernel, &times_us, &n));
        for (int i = 0; i < n; i++)
            VBS_TRY(vbs_table_append(m->ctx, &m->table, kernel, times_us[i]));
    }
    return VBS_OK;
}

/* Adds the precision of a group. Dominated kernels do not count, because no plan needs their
 * times. */
static void add_precision(struct measuring *m, const struct vbs_group *group)
{
    for (int i = group->first; i < group->first + group->count; i++) {
        if (vbs_table_is_dominated(&m->table, group, i) || m->table.runs[i].summary.n_runs == 0)
            continue;
        m->report.n_judged++;
        m->report.n_unconverged += !vbs_table_is_tight(&m->table, i);
        if (m->table.runs[i].summary.n_runs < VBS_MEASURE_RUNS)
            m->report.n_few++;
        else
            m->report.worst_interval =
                fmax(m->report.worst_interval, vbs_relative_interval(&m->table.runs[i].summary));
    }
}

static void sum_up(struct measuring *m)
{
    m->report.total_s = elapsed_s(m);
    m->report.cache_bytes_per_us = vbs_weather_speed(&m->weather);
    for (int layer = 1; layer <= m->session->n_layers && !m->session->modelled; layer++)
        for (int p = 0; p < m->table.n_passes; p++)
            if (m->table.passes[p].rows > 0 || vbs_table_has_times(&m->table, p))
                add_precision(m, vbs_table_group(&m->table, layer, p));
}

enum vbs_status vbs_measure_by_clock(struct vbs_ctx *ctx, struct vbs_session *session,
                                     const struct vbs_measure_options *options,
                                     const struct vbs_sample_sink *sink,
                                     const struct vbs_measure_clock *clock,
                                     struct vbs_measure_report *report)
{
    struct measuring m = {
        .ctx = ctx, .session = session, .sink = sink, .clock = clock, .table.session = session};
    enum vbs_status status = resolve_options(ctx, options, &m.table.options, &m.keeps_limit);

    m.start_s = clock->now_s(clock->self);
    if (status != VBS_OK)
        goto done;
    status = vbs_table_init(ctx, &m.table);
    if (status != VBS_OK)
        goto done;
    status = allocate(&m);
    if (status != VBS_OK)
        goto done;
    status = take_up_stored(&m);
    if (status != VBS_OK)
        goto done;
    status = session->modelled ? run_modelled(&m) : run_timed(&m);
    if (status != VBS_OK)
        goto done;
    sum_up(&m);
    if (m.table.options.save_runs && !session->modelled)
        status = vbs_table_lend(ctx, &m.table, sink, m.round, &m.report);
    if (status != VBS_OK)
        goto done;
    *report = m.report;
done:
    vbs_arena_clear(&m.arena);
    vbs_table_release(&m.table);
    return status;
}

static double monotonic_s(void *self)
{
    (void)self;
    return vbs_clock_s();
}

static int64_t involuntary_switches(void *self)
{
    struct rusage usage;

    (void)self;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

enum vbs_status vbs_measure(struct vbs_ctx *ctx, struct vbs_session *session,
                            const struct vbs_measure_options *options,
                            const struct vbs_sample_sink *sink, struct vbs_measure_report *report)
{
    static const struct vbs_measure_clock system = {.now_s = monotonic_s,
                                                    .n_preemptions = involuntary_switches};

    return vbs_measure_by_clock(ctx, session, options, sink, &system, report);
}
