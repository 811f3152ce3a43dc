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
 * of a grid. The cutting gets a share of the budget. The rest keeps weights in memory: from buffers
 * for the next step up to all of them. The plans of mmcnn, of vdnn and of dp-vbs+ beside resident
 * weights are offered, too. A budget has the best of all plans that need no more, so that a larger
 * budget never has a slower plan.
 *
 * Where samples may run by rows, all this is done once more with segments (plan/stripes) among the
 * cuttings: runs of layers through which samples pass one by one, by rows. A step with rows reads
 * all weights of its layer. In the recursion the weights of a layer are loaded for each of its
 * turns in the segment, or once, and stay until its end, where they may serve several samples that
 * run the segment one after the other. Which of them stay in the schedule is decided with all other
 * transfers.
 *
 * Weights at the end of a network often take longer to copy than their layers to compute. So, for
 * requests of one chunk in whole samples, the recursion is also solved as if these layers were
 * delayed: they run among the steps of the layers before for the samples that follow, with copies
 * beside them (stream_delay.c). Copies then take no time, and what these layers read waits for
 * longer, and counts twice.
 *
 * Near the plans of a request of one chunk, in whole samples, a local search looks for faster ones
 * (joint_polish.c).
 *
 * Last, where the problem is tiny, a search over all schedules in whole layers and halves (exact.h)
 * offers the best of them for every budget.
 *
 * Exact are the memory of each plan, its time on both clocks, and the recursion at its price.
 * Heuristic are the prices, the shares of the budget, and the choice of weights to keep (stream.h),
 * which short schedules search (stream_search.c).
 * Every plan has a lower bound (plan/problem/bound.c).
 *
 * Where the network is long or time is short, a first plan comes at once: the faster of fbs-best
 * beside resident weights and of mmcnn, then the best of dp-vbs+ and of one price in small groups
 * of layers (plan/dp/group.c). All else follows while time is left, each solve with its share of
 * it. It ends early when the plans for the budgets that are asked for are as fast as their lower
 * bounds, as where everything fits.
 *
 * Complexity: a solve of dp-vbs+ for each price, with the rows times the numbers of slices; then
 * O(budgets x prices x shares x steps log steps), less the trials that cannot be faster than a
 * known plan, and O(layers) plans of transfers, O(steps log steps) each, for mmcnn and in each
 * round of the local search. So for chains the time of all grows with the third power of the number
 * of layers, and that of the first plans with the first: the solve in groups takes O(layers), and
 * the plan of fbs-best O(layers x batches). Seconds of processor time of a request of 12 on chains
 * of the analytic backend, for all plans and, in time, for the first one and where everything fits:
 *
 *     layers   all   first   everything fits
 *        250    49     0.2               0.2
 *        497           0.2               0.2
 *      1,000           0.2               0.4
 *
 * The plans for 250 layers in 2 MiB are as fast after 2.6 seconds as after all of the 49. A large
 * request is solved in chunks and in units of several samples, so that these solves do not grow
 * with it, and most schedules of chunks are tried on few of them. Beside resident weights dp-vbs+
 * solves a large request for a choice of numbers of samples (plan/dp/counts.h). Its plans are then
 * slightly slower than the plans for all numbers: for AlexNet with 256 samples by 0.17 percent at
 * most, and by nothing in half of all budgets.
 */
#include "plan/weights/joint.h"
#include "plan/dp/dp.h"
#include "plan/problem/problem.h"
#include "plan/uniform/uniform.h"
#include "plan/weights/exact.h"
#include "plan/weights/least.h"
#include "plan/weights/trial.h"
#include "plan/weights/weights.h"

#include "base/clock.h"
#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* The recursion takes time by the square of the request. A request of more samples is planned
 * twice: in chunks of MAX_CHUNK samples, and as a whole in MAX_CHUNK units of several samples. */
#define MAX_CHUNK  64
#define FEW_CHUNKS 3               /* on which schedules are tried */
#define MOST_EXACT (2 * MAX_CHUNK) /* samples for which dp-vbs+ solves all numbers of samples */
#define MAX_OFFERS 64 /* plans of another planner for a larger request in limited time */

#define FIRST_EFFORT   2e6 /* of the first solve for a long network */
#define FIRST_COUNTS   8   /* numbers of samples that it tries one by one */
#define FIRST_SHARE    10  /* of the time, as a divisor, that the schedules of this solve have */
#define LEAST_TRIALS_S 0.1 /* and the least of it */
/* The shares of the time for plans of other planners, as divisors: of dp-vbs+, and of vdnn and
 * mmcnn, whose plans for long networks are slow. */
#define SHORT_SHARE   6
#define LONG_SHARE    10
#define SECOND_EFFORT 1e6 /* of a solve, by second of a limit, above which a network is long */
#define LONG_EFFORT   1e8 /* the same for any limit, and without one */
/* A limit from which on it changes nothing for a network that is not long, unless it is reached. */
#define CALM_S      5
#define PROVEN      1e-9 /* of the time: sums and ticks differ by less */
#define FEW_BUDGETS 4    /* whose lower bounds are computed to end the search early */

/* Prices of a copied microsecond. */
static const double PRICES[] = {1, 0.25, 0};

#define N_PRICES ((int)(sizeof PRICES / sizeof PRICES[0]))

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

/* A long network in small groups of layers, which comes first. */
static const struct joint_pass FIRST_PASS = {false, 24, 1, true};

/* The same with segments by rows, whose units are single samples. */
static const struct joint_pass ROWS_PASSES[] = {
    {false, 8, 1, true}, {false, 24, N_PRICES, true}, {false, MAX_CHUNK, N_PRICES, false}};

#define N_ROWS_PASSES   ((int)(sizeof ROWS_PASSES / sizeof ROWS_PASSES[0]))
#define N_COARSE_PASSES ((int)(sizeof COARSE_PASSES / sizeof COARSE_PASSES[0]))
#define N_FULL_PASSES   ((int)(sizeof FULL_PASSES / sizeof FULL_PASSES[0]))

/* Solves the recursion for a number of samples; *self is closed by the caller. */
static enum vbs_status solve_priced(struct joint *joint, int samples, struct vbs_task *task,
                                    void **self)
{
    struct vbs_problem problem = joint->task->problem;
    size_t held;

    problem.profile = joint->profile;
    problem.weights = VBS_WEIGHTS_EXCLUDED;
    problem.request = (samples + joint->grain - 1) / joint->grain;
    VBS_TRY(vbs_task_init_rows(joint->ctx, task, &problem, joint->by_rows ? &joint->rows : NULL));
    task->cut_until_s = joint->solve_until_s;
    task->most_items = joint->most_items;
    if (joint->most_items > 0 && joint->until_s > 0)
        task->rows_until_s = (vbs_clock_s() + joint->until_s) / 2;
    if (joint->by_rows)
        task->cut_budgets = &joint->cut_budgets;
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

/* Finds out whether the plans for all budgets that are asked for are as fast as their lower bounds,
 * so that the search can end. */
static enum vbs_status look_for_proof(struct joint *joint)
{
    const struct vbs_solver_options *options = &joint->task->options;
    bool proven = joint->is_hasty && options->n_budgets > 0 && options->n_budgets <= FEW_BUDGETS;

    for (int i = 0; proven && i < options->n_budgets; i++) {
        const struct vbs_pareto_plan *plan = vbs_pareto_within(joint->pareto, options->budgets[i]);
        double *bound_us = &joint->bounds_us[i];

        if (plan && *bound_us == 0)
            VBS_TRY(vbs_task_bound_us(joint->ctx, joint->task, options->budgets[i], bound_us));
        proven = plan && plan->time_us <= *bound_us * (1 + PROVEN);
    }
    joint->is_proven = proven;
    return VBS_OK;
}

/* Solves the recursion at a price, and makes schedules of its cuttings; for trials_s, where this is
 * the first pass of a long network, whose solve has no limit. */
static enum vbs_status solve_price(struct joint *joint, double price, double trials_s)
{
    int left = joint->task->request % joint->chunk;
    struct vbs_task task = {0}, rest_task = {0};
    void *solved = NULL, *rest = NULL;
    enum vbs_status status;

    VBS_TRY(vbs_joint_price(joint, price));
    status = solve_priced(joint, joint->chunk, &task, &solved);
    if (status == VBS_OK && left > 0)
        status = solve_priced(joint, left, &rest_task, &rest);
    joint->cuttings = solved;
    joint->rest = rest;
    if (joint->most_items > 0 && joint->until_s > 0)
        joint->until_s = vbs_clock_s() + trials_s;
    if (status == VBS_OK)
        status = vbs_joint_try_cuttings(joint);
    if (status == VBS_OK && joint->place.n_repeats > 0)
        status = vbs_joint_make_schedules(joint);
    close_priced(&task, solved);
    close_priced(&rest_task, rest);
    vbs_profile_free(joint->profile);
    joint->n_done += joint->most_items == 0;
    return status;
}

/* Does the same within its share of the time that is left, where the network is long: half of the
 * share is for the solve, which gives the cuttings of the largest groups that it reached. */
static enum vbs_status try_price(struct joint *joint, double price)
{
    int n_left = joint->n_solves > joint->n_done ? joint->n_solves - joint->n_done : 1;
    double until_s = joint->until_s, now_s = vbs_clock_s(), share_s = (until_s - now_s) / n_left;
    bool shares = joint->is_long && until_s > now_s, is_first = joint->most_items > 0;
    enum vbs_status status;

    if (shares && !is_first)
        joint->until_s = now_s + share_s;
    joint->solve_until_s = is_first ? 0 : shares ? now_s + share_s / 2 : until_s;
    status = solve_price(joint, price, fmax(LEAST_TRIALS_S, (until_s - now_s) / FIRST_SHARE));
    joint->until_s = until_s;
    return status == VBS_OK ? look_for_proof(joint) : status;
}

static enum vbs_status try_prices(struct joint *joint, const struct joint_pass *pass)
{
    for (int p = 0; p < pass->n_prices; p++)
        if (!vbs_joint_is_late(joint))
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

/* Tries schedules on few chunks and makes the ones that would be better than the known schedules.
 * found is empty at first. */
static enum vbs_status try_prices_on(struct joint *joint, const struct joint_pass *pass,
                                     const struct vbs_task *few, struct vbs_pareto_set *found)
{
    for (int i = 0; i < joint->pareto->n; i++)
        VBS_TRY(vbs_pareto_offer_timed(joint->ctx, found, joint->pareto->list[i].bytes,
                                       joint->pareto->list[i].time_us, &(struct vbs_step_list){0}));
    joint->place = (struct trial_place){
        .task = few,
        .found = found,
        .n_repeats = joint->task->request / joint->chunk - FEW_CHUNKS,
    };
    return try_prices(joint, pass);
}

static enum vbs_status try_prices_on_few(struct joint *joint, const struct joint_pass *pass)
{
    struct vbs_problem problem = joint->task->problem;
    struct vbs_pareto_set found = {.has_totals_only = true, .tag = -1};
    struct vbs_task few;
    enum vbs_status status;

    problem.request = FEW_CHUNKS * joint->chunk + joint->task->request % joint->chunk;
    VBS_TRY(vbs_task_init(joint->ctx, &few, &problem));
    found.task = &few;
    status = try_prices_on(joint, pass, &few, &found);
    vbs_joint_try_whole(joint);
    vbs_pareto_clear(&found);
    vbs_task_clear(&few);
    return status;
}

static enum vbs_status try_pass(struct joint *joint, const struct joint_pass *pass)
{
    joint->is_coarse = pass->is_coarse;
    if (joint->task->problem.copy.bytes_per_us > 0)
        VBS_TRY(vbs_joint_choose_units(joint, pass->whole, pass->max_units));
    if (joint->n_batches == 0)
        return VBS_OK;
    return has_equal_chunks(joint) ? try_prices_on_few(joint, pass) : try_prices(joint, pass);
}

/* Counts the solves of n passes that will be tried. */
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

/* Tries the first pass of a long network, in small groups of layers. */
static enum vbs_status try_groups(struct joint *joint)
{
    enum vbs_status status;

    joint->most_items =
        vbs_orders_items_within(joint->task, &joint->orders, FIRST_PASS.max_units, FIRST_EFFORT);
    status = try_pass(joint, &FIRST_PASS);
    joint->most_items = 0;
    return status;
}

/* Tries schedules in which the layers from `from` on are delayed, after a pass of one chunk. Their
 * copies are to run beside other steps, and take no time then. */
static enum vbs_status try_delayed(struct joint *joint, int from)
{
    enum vbs_status status;

    if (from == 0 || joint->n_batches == 0 || vbs_joint_is_late(joint))
        return VBS_OK;
    joint->delayed_from = from;
    status = try_price(joint, 0);
    joint->delayed_from = 0;
    return status;
}

static enum vbs_status offer_plan(struct joint *joint, const struct vbs_planner *planner,
                                  void *self, int64_t memory_bytes)
{
    struct vbs_draft draft = {0};
    enum vbs_status status = planner->plan(joint->ctx, self, memory_bytes, &draft);

    if (status == VBS_OK)
        status = vbs_trial_offer(joint->ctx, draft.reserved_bytes, &draft.steps, joint->pareto);
    vbs_step_list_clear(&draft.steps);
    /* Where the caller has stopped the planner, its plan for one budget counts all the same. */
    return status == VBS_OK || status == VBS_INFEASIBLE ? vbs_check_cancel(joint->ctx) : status;
}

/* Offers the planner's plan for every budget at which it may change; for a large request in limited
 * time only for the largest budget that matters and some others. */
static enum vbs_status offer_plans(struct joint *joint, const struct vbs_planner *planner,
                                   const struct vbs_task *task)
{
    void *self = NULL;
    int64_t *bytes = NULL;
    int n = 0, stride;
    enum vbs_status status;

    VBS_TRY(planner->open(joint->ctx, task, &self));
    status = planner->thresholds(joint->ctx, self, &bytes, &n);
    while (n > 1 && vbs_joint_is_above(joint, bytes[n - 1]))
        n--;
    stride = vbs_trial_stride(task, n);
    if (joint->hurries && (task->request > MAX_CHUNK || joint->is_long) &&
        stride < n / MAX_OFFERS + 1)
        stride = n / MAX_OFFERS + 1;
    for (int i = n - 1; status == VBS_OK && i >= 0 && !vbs_task_is_late(task); i--)
        if (vbs_pareto_is_kept(i, n, stride))
            status = offer_plan(joint, planner, self, bytes[i]);
    free(bytes);
    planner->close(self);
    return status;
}

/* Offers the schedules of planners that transfer weights; where joint hurries, until until_s. */
static enum vbs_status offer_transfers(struct joint *joint, double until_s)
{
    struct vbs_task beside = *joint->task;

    if (joint->hurries)
        beside.cut_until_s = until_s;
    VBS_TRY(offer_plans(joint, &vbs_planner_vdnn, &beside));
    return offer_plans(joint, &vbs_planner_mmcnn, &beside);
}

/*
 * Offers the schedules of dp-vbs+ beside resident weights, until until_s; 0: all. Where the curves
 * of a large request take too much memory, dp-vbs+ has no schedule either, and fbs-best stands in.
 * Where weights can be copied, other plans than these decide the least budget, and no budget above
 * the largest one matters.
 */
static enum vbs_status offer_resident(struct joint *joint, double until_s)
{
    const struct vbs_task *task = joint->task;
    struct vbs_task beside = *task;
    enum vbs_status status;

    beside.resident = &vbs_planner_dp_vbs_plus;
    beside.has_rows = joint->by_rows;
    if (joint->by_rows)
        beside.cut_budgets = &joint->cut_budgets;
    if (task->request > MOST_EXACT && task->latency_ticks == INT64_MAX)
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

/* Offers the plan of a planner for the largest budget that matters, or its plans for some of all
 * budgets. */
static enum vbs_status offer_soon(struct joint *joint, const struct vbs_planner *planner,
                                  const struct vbs_task *task)
{
    int64_t most_bytes = task->options.most_bytes;
    void *self = NULL;
    enum vbs_status status;

    if (most_bytes == 0)
        return offer_plans(joint, planner, task);
    VBS_TRY(planner->open(joint->ctx, task, &self));
    status = offer_plan(joint, planner, self, most_bytes);
    planner->close(self);
    return status == VBS_OK ? look_for_proof(joint) : status;
}

/* Where time is limited or the network is long: a plan at once, and better ones soon. */
static enum vbs_status offer_first(struct joint *joint)
{
    struct vbs_task beside = *joint->task;

    if (!joint->is_hasty)
        return VBS_OK;
    beside.resident = &vbs_planner_fbs_best;
    VBS_TRY(offer_soon(joint, &vbs_planner_resident, &beside));
    if (joint->is_proven)
        return VBS_OK;
    beside.cut_until_s = joint->from_s; /* it is late, and tries nothing but one limit */
    VBS_TRY(offer_soon(joint, &vbs_planner_mmcnn, &beside));
    if (!joint->is_long)
        return VBS_OK;
    beside.cut_until_s = 0;
    beside.resident = &vbs_planner_dp_vbs_plus;
    beside.most_items =
        vbs_orders_items_within(joint->task, &joint->orders, beside.request, FIRST_EFFORT);
    if (beside.latency_ticks == INT64_MAX)
        beside.exact_samples = FIRST_COUNTS;
    VBS_TRY(offer_soon(joint, &vbs_planner_resident, &beside));
    return try_groups(joint);
}

/* A request of at most MAX_CHUNK samples, which is one chunk. */
static enum vbs_status try_small(struct joint *joint)
{
    static const struct joint_pass PASS = {false, MAX_CHUNK, N_PRICES, false};
    double limit_s = joint->until_s - joint->from_s;
    int share = joint->is_long ? LONG_SHARE : SHORT_SHARE; /* of others' plans */
    int delayed_from = vbs_joint_delayed_from(joint);
    bool copies = joint->task->problem.copy.bytes_per_us > 0;

    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_resident(joint, copies && joint->hurries ? joint->from_s + limit_s / share
                                                               : joint->until_s));
    VBS_TRY(look_for_proof(joint));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_transfers(joint, joint->from_s + 2 * limit_s / share));
    count_passes(joint, &PASS, 1);
    joint->n_solves += (delayed_from > 0) + 1;
    VBS_TRY(try_passes(joint, &PASS, 1));
    VBS_TRY(try_delayed(joint, delayed_from));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(vbs_joint_polish(joint));
    return vbs_joint_is_late(joint)
               ? VBS_OK
               : vbs_exact_offer(joint->ctx, joint->task, joint->until_s, joint->pareto);
}

static enum vbs_status try_large(struct joint *joint)
{
    int n_coarse = joint->task->options.most_bytes > 0 ? N_COARSE_PASSES - 2 : 0;

    count_passes(joint, COARSE_PASSES, n_coarse);
    count_passes(joint, FULL_PASSES, N_FULL_PASSES);
    VBS_TRY(try_passes(joint, COARSE_PASSES, n_coarse));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_resident(joint, joint->until_s));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_transfers(joint, joint->until_s));
    return try_passes(joint, FULL_PASSES, N_FULL_PASSES);
}

/* A large request under a time limit: last come the planners that give no schedule before their
 * end. */
static enum vbs_status try_large_in_time(struct joint *joint)
{
    count_passes(joint, COARSE_PASSES, N_COARSE_PASSES);
    count_passes(joint, FULL_PASSES, N_FULL_PASSES);
    VBS_TRY(try_passes(joint, COARSE_PASSES, N_COARSE_PASSES));
    VBS_TRY(try_passes(joint, FULL_PASSES, N_FULL_PASSES));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_transfers(joint, joint->until_s));
    if (!vbs_joint_is_late(joint))
        VBS_TRY(offer_resident(joint, joint->until_s));
    return VBS_OK;
}

static enum vbs_status try_whole_samples(struct joint *joint)
{
    VBS_TRY(offer_first(joint));
    if (joint->task->request <= MAX_CHUNK)
        return try_small(joint);
    return joint->hurries ? try_large_in_time(joint) : try_large(joint);
}

/* Gives whether no schedule without rows fits the largest budget that matters. */
static enum vbs_status exclude_whole_samples(struct joint *joint, bool *excluded)
{
    int64_t most_bytes = joint->task->options.most_bytes;
    struct vbs_bracket bracket;

    VBS_TRY(vbs_transfer_bracket(joint->ctx, joint->task, &bracket));
    *excluded = most_bytes > 0 && bracket.low_bytes > most_bytes;
    return VBS_OK;
}

/*
 * Where samples may run by rows, the schedules without rows come first, as if there were no others:
 * a segment may look better at a price than whole samples and lead to a slower schedule. So no plan
 * is slower than without rows, but under a time limit, half of which is for either kind.
 */
static enum vbs_status try_all(struct joint *joint)
{
    bool is_small = joint->task->request <= MAX_CHUNK, excluded;
    int first = is_small || joint->task->options.most_bytes == 0 ? N_ROWS_PASSES - 1 : 0;
    double until_s = joint->until_s;

    if (!joint->task->has_rows)
        return try_whole_samples(joint);
    VBS_TRY(exclude_whole_samples(joint, &excluded));
    count_passes(joint, &ROWS_PASSES[first], N_ROWS_PASSES - first);
    if (until_s > 0)
        joint->until_s = (joint->from_s + until_s) / 2;
    if (!excluded)
        VBS_TRY(try_whole_samples(joint));
    joint->until_s = until_s;
    joint->by_rows = true;
    if (joint->is_long)
        VBS_TRY(try_groups(joint));
    VBS_TRY(try_passes(joint, &ROWS_PASSES[first], N_ROWS_PASSES - first));
    return vbs_joint_is_late(joint) ? VBS_OK : offer_resident(joint, until_s);
}

/* Finds out whether the network is long, and sets the limit of time. */
static enum vbs_status set_out(struct joint *joint)
{
    const struct vbs_task *task = joint->task;
    int samples = task->request < MAX_CHUNK ? task->request : MAX_CHUNK;
    double effort;

    joint->from_s = joint->reported_s = vbs_clock_s();
    if (task->options.time_limit_s > 0)
        joint->until_s = joint->from_s + task->options.time_limit_s;
    VBS_TRY(vbs_orders_find(joint->ctx, task, &joint->arena, &joint->orders));
    effort = vbs_orders_effort(task, &joint->orders, samples, 0);
    joint->is_long = effort > LONG_EFFORT ||
                     (joint->until_s > 0 && effort > SECOND_EFFORT * task->options.time_limit_s);
    joint->hurries = joint->until_s > 0 && (joint->is_long || task->options.time_limit_s < CALM_S);
    joint->is_hasty = joint->hurries || joint->is_long;
    joint->bounds_us = vbs_arena_alloc(&joint->arena, FEW_BUDGETS, sizeof *joint->bounds_us);
    if (!joint->bounds_us)
        return vbs_no_memory(joint->ctx);
    vbs_joint_try_whole(joint);
    vbs_joint_choose_slices(joint);
    return vbs_joint_choose_cut_budgets(joint);
}

static enum vbs_status joint_open(struct vbs_ctx *ctx, const struct vbs_task *task, void **self)
{
    struct vbs_pareto_set *pareto = calloc(1, sizeof *pareto);
    struct joint joint = {.ctx = ctx, .task = task, .pareto = pareto};
    enum vbs_status status;

    if (!pareto)
        return vbs_no_memory(ctx);
    pareto->task = task;
    status = set_out(&joint);
    if (status == VBS_OK)
        status = try_all(&joint);
    free(joint.trials.list);
    vbs_budget_list_clear(&joint.cut_budgets);
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
    .cost = "that of dp-vbs+ for each price of a copy, then budgets tried x steps x log steps; a "
            "first plan at once, better ones while time is left",
    .transfers = true,
    .open = joint_open,
    .bracket = vbs_transfer_bracket_by_rows,
    .plan = vbs_pareto_plan_within,
    .least_bytes = vbs_pareto_least_bytes,
    .peak_bytes = vbs_pareto_peak_bytes,
    .thresholds = vbs_pareto_thresholds,
    .close = vbs_pareto_close,
};
