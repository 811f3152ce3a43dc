/*
 * All weights resident: any planner of activations, in the budget less the weights.
 *
 * The algorithms of a layer, on the batches up to the request, may need their weights in different
 * packed formats, larger ones mostly for faster kernels (Winograd), so that the memory beside the
 * weights depends on the set of allowed algorithms. Policies allow more and more of them: first the
 * lightest formats that serve every batch, then also the formats that save most time per byte, and
 * finally all formats that are the fastest at some batch, so that with unlimited memory no time is
 * lost. The planner solves the problem once for each policy, on the rows that the policy allows,
 * and a budget gets the best of their plans. With one format for each layer there is one policy,
 * and the plan is the planner's plan for the budget less the weights.
 */
#include "plan/weights/weights.h"
#include "plan/problem/problem.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define N_STEPS      4                /* from the lightest to the fastest, one format a layer */
#define MOST_STEPS   12               /* the same where layers have many formats */
#define MAX_POLICIES (MOST_STEPS + 2) /* each is solved */

/* The allowed formats of each layer, as bits, and their bytes. */
struct policy {
    uint64_t *formats; /* [0..n] */
    int64_t weight_bytes;
    struct vbs_profile *profile;
    struct vbs_task task;
    void *self;
    bool opened;
    int *algorithms; /* from the derived profile's to the profile's */
};

struct resident {
    const struct vbs_task *task;
    const struct vbs_planner *planner;
    int n_policies;
    struct policy policies[MAX_POLICIES];
    bool interrupted; /* the caller stopped the solves; policies that were solved have plans */
    struct vbs_arena arena;
};

/* The packed formats of one layer. */
struct formats {
    int64_t bytes[VBS_MAX_FORMATS];  /* -1: no row has the format */
    double best_us[VBS_MAX_FORMATS]; /* least time per sample */
    int n_batches[VBS_MAX_FORMATS];  /* that have a row with it */
};

static void survey(const struct vbs_task *task, int layer, struct formats *formats)
{
    for (int f = 0; f < VBS_MAX_FORMATS; f++) {
        formats->bytes[f] = -1;
        formats->best_us[f] = HUGE_VAL;
        formats->n_batches[f] = 0;
    }
    for (int i = 0; i < task->n_batches; i++) {
        uint64_t seen = 0;
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++) {
            int f = rows[a].format;
            double us = rows[a].time_us / task->profile->batches[i];

            formats->bytes[f] = rows[a].weight_bytes;
            formats->best_us[f] = fmin(formats->best_us[f], us);
            formats->n_batches[f] += !(seen >> f & 1);
            seen |= (uint64_t)1 << f;
        }
    }
}

/* True when every batch of layer has a row with one of the formats. */
static bool covers(const struct vbs_task *task, int layer, uint64_t formats)
{
    for (int i = 0; i < task->n_batches; i++) {
        int n_rows, a = 0;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        while (a < n_rows && !(formats >> rows[a].format & 1))
            a++;
        if (a == n_rows)
            return false;
    }
    return true;
}

/* True when format a is lighter than b, or as light and faster. */
static bool is_before(const struct formats *formats, int a, int b)
{
    return formats->bytes[a] < formats->bytes[b] ||
           (formats->bytes[a] == formats->bytes[b] && formats->best_us[a] < formats->best_us[b]);
}

/* The lightest format that serves every batch; where none does, light formats are added until all
 * batches are served. */
static uint64_t lightest(const struct vbs_task *task, int layer, const struct formats *formats)
{
    uint64_t chosen = 0;
    int best = -1;

    for (int f = 0; f < VBS_MAX_FORMATS; f++)
        if (formats->n_batches[f] == task->n_batches && (best < 0 || is_before(formats, f, best)))
            best = f;
    if (best >= 0)
        return (uint64_t)1 << best;
    while (!covers(task, layer, chosen)) {
        best = -1;
        for (int f = 0; f < VBS_MAX_FORMATS; f++)
            if (formats->bytes[f] >= 0 && !(chosen >> f & 1) &&
                (best < 0 || is_before(formats, f, best)))
                best = f;
        chosen |= (uint64_t)1 << best;
    }
    return chosen;
}

static int64_t bytes_of(const struct formats *formats, uint64_t chosen)
{
    int64_t bytes = 0;

    for (int f = 0; f < VBS_MAX_FORMATS; f++)
        if (chosen >> f & 1)
            bytes += formats->bytes[f];
    return bytes;
}

static double best_us(const struct formats *formats, uint64_t chosen)
{
    double best = HUGE_VAL;

    for (int f = 0; f < VBS_MAX_FORMATS; f++)
        if (chosen >> f & 1)
            best = fmin(best, formats->best_us[f]);
    return best;
}

/* A change of a layer to formats that take more bytes and less time. */
struct policy_change {
    int layer;
    uint64_t formats; /* after the change, all of the layer's */
    int64_t bytes;    /* more than before it */
    double worth;     /* microseconds a sample for each of them */
};

struct change_list {
    uint64_t *light; /* [0..n] the lightest formats of each layer, from which changes begin */
    int64_t light_bytes;
    int n;
    int64_t capacity;
    struct policy_change *list;
};

/* Gives the bytes of a format with what else is needed to serve every batch, and that set. */
static int64_t served_bytes(const struct vbs_task *task, const struct formats *formats, int format,
                            uint64_t light, uint64_t *chosen)
{
    *chosen = (uint64_t)1 << format;
    if (formats->n_batches[format] < task->n_batches)
        *chosen |= light;
    return bytes_of(formats, *chosen);
}

/* Adds the changes of a layer, from its lightest formats on: each is the one that saves most time
 * per byte, so that they are worth less and less (the lower convex hull of time over bytes). */
static enum vbs_status add_changes(struct vbs_ctx *ctx, const struct vbs_task *task, int layer,
                                   struct change_list *changes)
{
    struct formats formats;
    uint64_t light;
    int64_t bytes;
    double us;

    survey(task, layer, &formats);
    changes->light[layer] = light = lightest(task, layer, &formats);
    bytes = bytes_of(&formats, light);
    us = best_us(&formats, light);
    changes->light_bytes += bytes;
    for (;;) {
        struct policy_change best = {.layer = layer};

        for (int f = 0; f < VBS_MAX_FORMATS; f++) {
            uint64_t chosen;
            int64_t more;
            double worth;

            if (formats.bytes[f] < 0 || formats.best_us[f] >= us)
                continue;
            more = served_bytes(task, &formats, f, light, &chosen) - bytes;
            worth = more > 0 ? (us - formats.best_us[f]) / (double)more : 0;
            if (worth > best.worth || (worth == best.worth && worth > 0 && more > best.bytes))
                best = (struct policy_change){layer, chosen, more, worth};
        }
        if (best.worth <= 0)
            return VBS_OK;
        VBS_TRY(vbs_grow(ctx, &changes->list, &changes->capacity, (int64_t)changes->n + 1,
                         sizeof *changes->list));
        changes->list[changes->n++] = best;
        bytes += best.bytes;
        us = best_us(&formats, best.formats);
    }
}

/* Changes of one layer keep their order: each is worth less than the one before. */
static int by_worth(const void *a, const void *b)
{
    const struct policy_change *x = a, *y = b;

    if (x->worth != y->worth)
        return x->worth > y->worth ? -1 : 1;
    return x->layer < y->layer ? -1 : 1;
}

/* Adds the policy in which the first n_made changes are made. */
static enum vbs_status add_policy(struct vbs_ctx *ctx, struct resident *resident,
                                  const struct change_list *changes, int n_made)
{
    struct policy *policy = &resident->policies[resident->n_policies];
    int n = resident->task->n_layers;

    *policy = (struct policy){
        .formats = vbs_arena_alloc(&resident->arena, (size_t)n + 1, sizeof *policy->formats)};
    if (!policy->formats)
        return vbs_no_memory(ctx);
    memcpy(policy->formats, changes->light, ((size_t)n + 1) * sizeof *policy->formats);
    policy->weight_bytes = changes->light_bytes;
    for (int c = 0; c < n_made; c++) {
        policy->formats[changes->list[c].layer] = changes->list[c].formats;
        policy->weight_bytes += changes->list[c].bytes;
    }
    resident->n_policies++;
    return VBS_OK;
}

/* The formats of the rows that are the fastest at some batch. */
static uint64_t fastest(const struct vbs_task *task, int layer)
{
    uint64_t chosen = 0;

    for (int i = 0; i < task->n_batches; i++) {
        int n_rows, best = 0;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 1; a < n_rows; a++)
            if (rows[a].time_us < rows[best].time_us ||
                (rows[a].time_us == rows[best].time_us && chosen >> rows[a].format & 1))
                best = a;
        chosen |= (uint64_t)1 << rows[best].format;
    }
    return chosen;
}

/* Adds the policy of the fastest rows of all batches, unless the latest allows them. */
static enum vbs_status add_fastest(struct vbs_ctx *ctx, struct resident *resident)
{
    const struct policy *latest = &resident->policies[resident->n_policies - 1];
    struct policy *policy = &resident->policies[resident->n_policies];
    int n = resident->task->n_layers;
    bool adds = false;

    *policy = (struct policy){
        .formats = vbs_arena_alloc(&resident->arena, (size_t)n + 1, sizeof *policy->formats)};
    if (!policy->formats)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= n; k++) {
        struct formats formats;

        survey(resident->task, k, &formats);
        policy->formats[k] = fastest(resident->task, k);
        policy->weight_bytes += bytes_of(&formats, policy->formats[k]);
        adds = adds || (policy->formats[k] & ~latest->formats[k]) != 0;
    }
    resident->n_policies += adds;
    return VBS_OK;
}

/* Counts the first changes after which the weights are still below the largest budget that
 * matters. */
static int count_changes(const struct resident *resident, const struct change_list *changes)
{
    int64_t most = resident->task->options.most_bytes, bytes = changes->light_bytes;
    int n = 0;

    while (n < changes->n && (most == 0 || bytes + changes->list[n].bytes < most))
        bytes += changes->list[n++].bytes;
    return n;
}

/* Adds the policies between the lightest formats and the fastest, at even numbers of changes. */
static enum vbs_status add_policies(struct vbs_ctx *ctx, struct resident *resident,
                                    struct change_list *changes)
{
    int n_changes, n_steps, latest = 0;

    if (changes->n > 0)
        qsort(changes->list, (size_t)changes->n, sizeof *changes->list, by_worth);
    VBS_TRY(add_policy(ctx, resident, changes, 0));
    n_changes = count_changes(resident, changes);
    n_steps = changes->n > resident->task->n_layers / 2 ? MOST_STEPS : N_STEPS;
    for (int step = 1; step <= n_steps; step++) {
        int n_made = (n_changes * step + n_steps - 1) / n_steps;

        if (n_made > latest)
            VBS_TRY(add_policy(ctx, resident, changes, n_made));
        latest = n_made;
    }
    return add_fastest(ctx, resident);
}

static enum vbs_status find_policies(struct vbs_ctx *ctx, struct resident *resident)
{
    int n = resident->task->n_layers;
    struct change_list changes = {
        .light = vbs_arena_alloc(&resident->arena, (size_t)n + 1, sizeof *changes.light)};
    enum vbs_status status = changes.light ? VBS_OK : vbs_no_memory(ctx);

    for (int k = 1; k <= n && status == VBS_OK; k++)
        status = add_changes(ctx, resident->task, k, &changes);
    if (status == VBS_OK)
        status = add_policies(ctx, resident, &changes);
    free(changes.list);
    return status;
}

struct filter {
    const struct vbs_profile *profile;
    const struct policy *policy;
};

static enum vbs_status allowed_rows(struct vbs_ctx *ctx, void *self,
                                    struct vbs_profile_builder *builder, int layer, int batch)
{
    const struct filter *filter = self;
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(
        filter->profile, layer, vbs_profile_batch_index(filter->profile, batch), &n_rows);

    for (int a = 0; a < n_rows; a++)
        if (filter->policy->formats[layer] >> rows[a].format & 1)
            VBS_TRY(vbs_profile_builder_row(ctx, builder, layer, batch,
                                            filter->profile->algorithms[rows[a].algorithm],
                                            &rows[a]));
    return VBS_OK;
}

/* Rows of stripes are allowed where their weights are there anyway. */
static bool allowed_stripe(void *self, int layer, struct vbs_profile_row *row)
{
    const struct filter *filter = self;

    return filter->policy->formats[layer] >> row->format & 1;
}

/* Returns when the solve of the next of n policies ends, so that the others get as much time. */
static double policy_until_s(const struct resident *resident, int n)
{
    double now_s = vbs_clock_s(), until_s = resident->task->cut_until_s;

    return until_s > 0 ? fmin(until_s, now_s + (until_s - now_s) / n) : 0;
}

static enum vbs_status open_policy(struct vbs_ctx *ctx, struct resident *resident,
                                   struct policy *policy)
{
    const struct vbs_profile *profile = resident->task->profile;
    struct filter filter = {profile, policy};
    struct vbs_derivation derivation = {.self = &filter,
                                        .rows = allowed_rows,
                                        .stripe = resident->task->has_rows ? allowed_stripe : NULL,
                                        .n_batches = resident->task->n_batches,
                                        .batches = profile->batches};
    struct vbs_problem problem = resident->task->problem;
    int64_t most_bytes = resident->task->options.most_bytes;
    enum vbs_status status;

    if (most_bytes > 0 && policy->weight_bytes >= most_bytes)
        return VBS_OK; /* not even the weights fit */
    VBS_TRY(vbs_profile_derive(ctx, profile, &derivation, &policy->profile));
    policy->algorithms = vbs_arena_alloc(&resident->arena, (size_t)policy->profile->n_algorithms,
                                         sizeof *policy->algorithms);
    if (!policy->algorithms)
        return vbs_no_memory(ctx);
    for (int a = 0; a < policy->profile->n_algorithms; a++)
        policy->algorithms[a] = vbs_profile_algorithm(profile, policy->profile->algorithms[a]);
    problem.profile = policy->profile;
    problem.weights = VBS_WEIGHTS_EXCLUDED;
    VBS_TRY(vbs_task_init(ctx, &policy->task, &problem));
    policy->task.options = resident->task->options;
    policy->task.options.n_budgets = 0; /* they count the weights */
    policy->task.cut_until_s =
        policy_until_s(resident, resident->n_policies - (int)(policy - resident->policies));
    policy->task.most_items = resident->task->most_items;
    policy->task.exact_samples = resident->task->exact_samples;
    policy->task.cut_budgets = resident->task->cut_budgets;
    if (resident->task->options.most_bytes > 0)
        policy->task.options.most_bytes = resident->task->options.most_bytes - policy->weight_bytes;
    policy->task.options.time_limit_s = /* the limit is for one budget and all policies together */
        (policy->task.options.time_limit_s > 0 ? policy->task.options.time_limit_s
                                               : VBS_TIME_LIMIT_S) /
        resident->n_policies;
    status = resident->planner->open(ctx, &policy->task, &policy->self);
    policy->opened = status == VBS_OK;
    if (!policy->opened)
        vbs_task_clear(&policy->task);
    return status;
}

static void resident_close(void *self)
{
    struct resident *resident = self;

    if (!resident)
        return;
    for (int i = 0; i < resident->n_policies; i++) {
        struct policy *policy = &resident->policies[i];

        if (policy->opened) {
            resident->planner->close(policy->self);
            vbs_task_clear(&policy->task);
        }
        vbs_profile_free(policy->profile);
    }
    vbs_arena_clear(&resident->arena);
    free(resident);
}

static int64_t resident_least_bytes(const void *self)
{
    const struct resident *resident = self;
    int64_t least = INT64_MAX;

    for (int i = 0; i < resident->n_policies; i++) {
        const struct policy *policy = &resident->policies[i];
        int64_t bytes = policy->opened ? resident->planner->least_bytes(policy->self) : INT64_MAX;

        if (bytes < INT64_MAX - policy->weight_bytes && bytes + policy->weight_bytes < least)
            least = bytes + policy->weight_bytes;
    }
    return least;
}

static enum vbs_status resident_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct resident *resident = calloc(1, sizeof *resident);
    enum vbs_status status;

    if (!resident)
        return vbs_no_memory(ctx);
    resident->task = task;
    resident->planner = task->resident;
    status = find_policies(ctx, resident);
    for (int i = 0; status == VBS_OK && i < resident->n_policies; i++)
        status = open_policy(ctx, resident, &resident->policies[i]);
    if (status == VBS_INTERRUPTED && resident_least_bytes(resident) < INT64_MAX) {
        resident->interrupted = true;
        status = VBS_OK;
    }
    if (status != VBS_OK) {
        resident_close(resident);
        return status;
    }
    *self = resident;
    return VBS_OK;
}

/* Loads each format that the steps read, before all of them. */
static enum vbs_status load_formats(struct vbs_ctx *ctx, const struct resident *resident,
                                    const struct policy *policy, const struct vbs_step_list *steps,
                                    struct vbs_draft *draft)
{
    int n = resident->task->n_layers;
    uint64_t *used = calloc((size_t)n + 1, sizeof *used);
    enum vbs_status status = used ? VBS_OK : vbs_no_memory(ctx);

    for (int64_t s = 0; used && s < steps->n_steps; s++)
        used[steps->steps[s].layer] |=
            (uint64_t)1 << vbs_task_step_row(&policy->task, &steps->steps[s])->format;
    for (int k = 1; status == VBS_OK && k <= n; k++)
        for (int f = 0; status == VBS_OK && f < VBS_MAX_FORMATS; f++) {
            struct vbs_step load = {
                .op = VBS_STEP_LOAD, .layer = k, .format = (uint8_t)f, .resident = true};

            if (!(used[k] >> f & 1))
                continue;
            load.bytes = vbs_profile_format_bytes(resident->task->profile, k, f);
            if (load.bytes > 0)
                status = vbs_step_list_append(ctx, &draft->steps, &load);
        }
    free(used);
    return status;
}

static enum vbs_status take_draft(struct vbs_ctx *ctx, const struct resident *resident,
                                  const struct policy *policy, const struct vbs_draft *from,
                                  struct vbs_draft *draft)
{
    draft->steps.n_steps = 0;
    draft->reserved_bytes = from->reserved_bytes + policy->weight_bytes;
    VBS_TRY(load_formats(ctx, resident, policy, &from->steps, draft));
    for (int64_t s = 0; s < from->steps.n_steps; s++) {
        struct vbs_step step = from->steps.steps[s];

        step.algorithm = policy->algorithms[step.algorithm];
        VBS_TRY(vbs_step_list_append(ctx, &draft->steps, &step));
    }
    return VBS_OK;
}

static enum vbs_status resident_plan(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                                     struct vbs_draft *draft)
{
    struct resident *resident = self;
    double best_time_us = HUGE_VAL;
    bool interrupted = resident->interrupted;
    enum vbs_status status = VBS_OK;

    for (int i = 0; status == VBS_OK && i < resident->n_policies; i++) {
        struct policy *policy = &resident->policies[i];
        struct vbs_draft made = {0};
        double time_us;

        if (!policy->opened || memory_bytes < policy->weight_bytes)
            continue;
        status =
            resident->planner->plan(ctx, policy->self, memory_bytes - policy->weight_bytes, &made);
        interrupted = interrupted || made.interrupted;
        time_us = status == VBS_OK ? vbs_step_list_us(&policy->task, &made.steps) : HUGE_VAL;
        if (time_us < best_time_us) {
            best_time_us = time_us;
            status = take_draft(ctx, resident, policy, &made, draft);
        }
        if (status == VBS_INFEASIBLE)
            status = VBS_OK;
        vbs_step_list_clear(&made.steps);
    }
    draft->interrupted = interrupted;
    return status == VBS_OK && isinf(best_time_us) ? VBS_INFEASIBLE : status;
}

/* Explains the plan of the policy that is the fastest, in the memory beside its weights. */
static enum vbs_status explain_policy(struct vbs_reasons *reasons, const struct resident *resident,
                                      struct policy *policy, const struct vbs_draft *made,
                                      const struct vbs_question *question)
{
    struct vbs_question inner = *question;
    const struct vbs_task *task = reasons->task;
    enum vbs_status status;

    inner.memory_bytes -= policy->weight_bytes;
    inner.steps = made->steps.steps;
    inner.n_steps = made->steps.n_steps;
    if (!question->steps)
        inner.steps = NULL;
    reasons->task = &policy->task;
    status = resident->planner->explain(reasons, policy->self, &inner);
    reasons->task = task;
    reasons->made.weight_bytes = policy->weight_bytes;
    vbs_reasons_rename(reasons, policy->algorithms);
    return status;
}

static enum vbs_status resident_explain(struct vbs_reasons *reasons, void *self,
                                        const struct vbs_question *question)
{
    struct resident *resident = self;
    struct policy *best = NULL;
    struct vbs_draft draft = {0};
    double best_us = HUGE_VAL;
    enum vbs_status status = VBS_OK;

    if (!resident->planner->explain)
        return VBS_UNSUPPORTED;
    for (int i = 0; status == VBS_OK && i < resident->n_policies; i++) {
        struct policy *policy = &resident->policies[i];
        struct vbs_draft made = {0};

        if (!policy->opened || question->memory_bytes < policy->weight_bytes)
            continue;
        status = resident->planner->plan(reasons->ctx, policy->self,
                                         question->memory_bytes - policy->weight_bytes, &made);
        if (status == VBS_OK && vbs_step_list_us(&policy->task, &made.steps) < best_us) {
            struct vbs_draft worse = draft;

            best_us = vbs_step_list_us(&policy->task, &made.steps);
            best = policy;
            draft = made;
            made = worse;
        }
        if (status == VBS_INFEASIBLE)
            status = VBS_OK;
        vbs_step_list_clear(&made.steps);
    }
    if (status == VBS_OK)
        status = best ? explain_policy(reasons, resident, best, &draft, question) : VBS_NOT_FOUND;
    vbs_step_list_clear(&draft.steps);
    return status;
}

static size_t resident_peak_bytes(const void *self)
{
    const struct resident *resident = self;
    size_t bytes = resident->arena.total_bytes;

    for (int i = 0; i < resident->n_policies; i++)
        if (resident->policies[i].opened)
            bytes += resident->planner->peak_bytes(resident->policies[i].self);
    return bytes;
}

static enum vbs_status resident_thresholds(struct vbs_ctx *ctx, const void *self, int64_t **bytes,
                                           int *n)
{
    const struct resident *resident = self;
    int64_t *all = NULL;
    int n_all = 0;

    for (int i = 0; i < resident->n_policies; i++) {
        const struct policy *policy = &resident->policies[i];
        int64_t *some = NULL, *grown;
        int n_some = 0;
        enum vbs_status status = VBS_OK;

        if (policy->opened)
            status = resident->planner->thresholds(ctx, policy->self, &some, &n_some);
        if (status != VBS_OK) {
            free(all);
            return status;
        }
        grown = realloc(all, ((size_t)n_all + (size_t)n_some + 1) * sizeof *all);
        if (!grown) {
            free(all);
            free(some);
            return vbs_no_memory(ctx);
        }
        all = grown;
        for (int t = 0; t < n_some; t++)
            if (some[t] <= INT64_MAX - policy->weight_bytes)
                all[n_all++] = some[t] + policy->weight_bytes;
        free(some);
    }
    *bytes = all;
    *n = n_all;
    return VBS_OK;
}

const struct vbs_planner vbs_planner_resident = {
    .name = "resident",
    .summary = "a planner of activations in what resident weights leave",
    .source = "vbslab",
    .cost = "that of the planner for each choice of packed weights",
    .open = resident_open,
    .plan = resident_plan,
    .least_bytes = resident_least_bytes,
    .peak_bytes = resident_peak_bytes,
    .thresholds = resident_thresholds,
    .explain = resident_explain,
    .close = resident_close,
};
