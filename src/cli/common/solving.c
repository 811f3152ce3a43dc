#include "cli/common/solving.h"

#include "base/fail.h"
#include "base/grow.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/number.h"
#include "exec/replan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vbs_status read_table(struct cli *cli, const struct vbs_planner *planner,
                                  const char *step, int64_t *table_bytes)
{
    if (strcmp(vbs_planner_name(planner), "dp-vbs") != 0)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--table is for planner dp-vbs; %s has no tables",
                        vbs_planner_name(planner));
    VBS_TRY(vbs_parse_bytes(&cli->ctx, step, table_bytes));
    if (*table_bytes == 0)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--table '%.40s' is no step; write for example 2MB",
                        step);
    return VBS_OK;
}

/* Whether the planner's solves for all budgets end when a limit of time is over. */
static bool ends_in_time(const struct vbs_planner *planner)
{
    const char *name = vbs_planner_name(planner);

    return strcmp(name, "joint") == 0 || strcmp(name, "dp-vbs+") == 0;
}

/* Refuses an option of searches that planner does not use. */
static enum vbs_status check_search(struct cli *cli, const struct vbs_planner *planner,
                                    const char *option, bool limits_time)
{
    const char *name = vbs_planner_name(planner);

    if (strcmp(name, "optimal") == 0 ||
        (limits_time && (ends_in_time(planner) || vbs_planner_is_outside(planner))))
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_USAGE, "--%s is for planner optimal%s; %s does not search",
                    option, limits_time ? ", joint or dp-vbs+" : "", name);
}

void cli_limit_time(const struct vbs_planner *planner, double limit_s, const int64_t *budgets,
                    int n_budgets, struct vbs_solver_options *options)
{
    if (!ends_in_time(planner))
        return;
    if (options->time_limit_s == 0)
        options->time_limit_s = limit_s;
    options->budgets = budgets;
    options->n_budgets = n_budgets;
    if (n_budgets > 0)
        options->most_bytes = budgets[0];
}

/* Reads the limits of the searches of optimal and joint. */
static enum vbs_status read_limits(struct cli *cli, const char *const *values,
                                   const struct vbs_planner *planner,
                                   struct vbs_solver_options *options)
{
    const char *limit = cli_value(cli, values, "time-limit");
    const char *nodes = cli_value(cli, values, "node-limit");
    const char *seed = cli_value(cli, values, "seed");
    int64_t number = 0;

    if (limit) {
        VBS_TRY(check_search(cli, planner, "time-limit", true));
        VBS_TRY(cli_parse_positive(&cli->ctx, "--time-limit", limit, "seconds",
                                   &options->time_limit_s));
    }
    if (nodes) {
        VBS_TRY(check_search(cli, planner, "node-limit", false));
        VBS_TRY(
            vbs_parse_int(&cli->ctx, "--node-limit", nodes, 1, INT64_MAX, &options->node_limit));
    }
    if (seed) {
        VBS_TRY(check_search(cli, planner, "seed", false));
        VBS_TRY(vbs_parse_int(&cli->ctx, "--seed", seed, 0, INT64_MAX, &number));
    }
    options->seed = (uint64_t)number;
    return VBS_OK;
}

enum vbs_status cli_read_solver_options(struct cli *cli, const char *const *values,
                                        const struct vbs_planner *planner,
                                        struct vbs_solver_options *options)
{
    const char *step = cli_value(cli, values, "table");

    if (step)
        VBS_TRY(read_table(cli, planner, step, &options->table_bytes));
    return read_limits(cli, values, planner, options);
}

enum vbs_status cli_find_planner(struct cli *cli, const char *name,
                                 const struct vbs_planner **planner)
{
    const struct vbs_planner *found;

    VBS_TRY(vbs_grow(&cli->ctx, &cli->planners, &cli->planners_capacity, cli->n_planners + 1,
                     sizeof *cli->planners));
    VBS_TRY(vbs_planner_load(&cli->ctx, name, &found));
    cli->planners[cli->n_planners++] = found;
    *planner = found;
    return VBS_OK;
}

void cli_unload(struct cli *cli)
{
    for (int64_t i = 0; i < cli->n_planners; i++)
        vbs_planner_unload(cli->planners[i]);
    free(cli->planners);
    cli->planners = NULL;
    cli->n_planners = cli->planners_capacity = 0;
}

static enum vbs_status find_planner(struct cli *cli, const char *const *values,
                                    const struct vbs_planner **planner)
{
    const char *name = cli_value(cli, values, "planner"), *word = cli_value(cli, values, "weights");
    enum vbs_weights weights = VBS_WEIGHTS_EXCLUDED;

    if (!name && word)
        VBS_TRY(vbs_weights_parse(&cli->ctx, word, &weights));
    if (!name)
        name = cli_value(cli, values, "rows")    ? "mmcnn"
               : weights == VBS_WEIGHTS_INCLUDED ? "joint"
                                                 : "dp-vbs+";
    return cli_find_planner(cli, name, planner);
}

/* ---- Weights ---- */

#define MAX_LATENCY_US 1e12 /* of a copy: eleven days */

enum vbs_status cli_read_copy(struct cli *cli, const char *const *values,
                              struct cli_weights *weights)
{
    const char *rate = cli_value(cli, values, "copy-rate");
    const char *latency = cli_value(cli, values, "copy-latency");
    int64_t bytes_per_s;

    *weights = (struct cli_weights){
        .weights = VBS_WEIGHTS_INCLUDED,
        .source = cli_value(cli, values, "copy"),
        .bytes_per_us = -1,
        .latency_us = -1,
    };
    if (rate) {
        enum vbs_status status = vbs_parse_bytes(&cli->ctx, rate, &bytes_per_s);

        if (status != VBS_OK)
            return vbs_fail_within(&cli->ctx, status, "--copy-rate");
        weights->bytes_per_us = (double)bytes_per_s / 1e6;
    }
    if (latency)
        VBS_TRY(cli_parse_from_0(&cli->ctx, "--copy-latency", latency, "microseconds",
                                 &weights->latency_us));
    if (weights->latency_us > MAX_LATENCY_US)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--copy-latency '%.40s' is above the largest, %g us",
                        latency, MAX_LATENCY_US);
    return VBS_OK;
}

enum vbs_status cli_read_weights(struct cli *cli, const char *const *values,
                                 const struct vbs_planner *planner, struct cli_weights *weights)
{
    static const char *const COPY[] = {"copy", "copy-rate", "copy-latency"};
    const char *where = cli_value(cli, values, "weights");
    enum vbs_status status = cli_read_copy(cli, values, weights);

    if (!planner || !vbs_planner_transfers(planner))
        weights->weights = VBS_WEIGHTS_EXCLUDED;
    if (status != VBS_OK)
        return status;
    if (where)
        VBS_TRY(vbs_weights_parse(&cli->ctx, where, &weights->weights));
    for (size_t i = 0; i < sizeof COPY / sizeof COPY[0]; i++)
        if (weights->weights == VBS_WEIGHTS_EXCLUDED && cli_value(cli, values, COPY[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--%s is for --weights included; excluded ones are never copied",
                            COPY[i]);
    return VBS_OK;
}

#define SHOWN_SOURCE 40 /* characters */

static enum vbs_status fail_source(struct cli *cli, const char *source,
                                   const struct vbs_profile *profile)
{
    struct vbs_text text = {0};
    enum vbs_status status;

    vbs_text_add(&text, "the profile has no copies from '");
    vbs_text_add_visible(&text, source, SHOWN_SOURCE);
    vbs_text_add(&text, profile->n_copies > 0 ? "'; it has: " : "'; it has none at all");
    for (int i = 0; i < profile->n_copies; i++) {
        vbs_text_add(&text, i > 0 ? ", " : "");
        vbs_text_add_visible(&text, profile->copies[i].source, SHOWN_SOURCE);
    }
    status = text.failed ? vbs_no_memory(&cli->ctx)
                         : vbs_fail(&cli->ctx, VBS_USAGE, "--copy: %s", text.data);
    vbs_text_clear(&text);
    return status;
}

enum vbs_status cli_find_link(struct cli *cli, const struct cli_weights *weights,
                              const struct vbs_profile *profile, struct vbs_link *link)
{
    static const struct vbs_link NONE = {.source = "given"};
    const struct vbs_copy *copy = profile->n_copies > 0 ? &profile->copies[0] : NULL;

    *link = (struct vbs_link){0};
    if (weights->weights == VBS_WEIGHTS_EXCLUDED)
        return VBS_OK;
    if (weights->source)
        copy = vbs_profile_copy(profile, weights->source);
    if (weights->source && !copy)
        return fail_source(cli, weights->source, profile);
    *link = copy ? copy->link : NONE;
    if (weights->bytes_per_us < 0 && weights->latency_us < 0)
        return VBS_OK;
    link->source = NONE.source;
    if (weights->bytes_per_us >= 0)
        link->bytes_per_us = weights->bytes_per_us;
    if (weights->latency_us >= 0)
        link->latency_us = weights->latency_us;
    return VBS_OK;
}

enum vbs_status cli_set_weights(struct cli *cli, const struct cli_weights *weights,
                                struct vbs_problem *problem)
{
    problem->weights = weights->weights;
    return cli_find_link(cli, weights, problem->profile, &problem->copy);
}

enum vbs_status cli_read_task(struct cli *cli, const char *const *values, struct cli_task *task)
{
    *task = (struct cli_task){0};
    VBS_TRY(find_planner(cli, values, &task->planner));
    VBS_TRY(cli_read_weights(cli, values, task->planner, &task->weights));
    return cli_read_problem(cli, values, &task->problem);
}

enum vbs_status cli_set_profile(struct cli *cli, const struct vbs_profile *profile,
                                struct cli_task *task)
{
    task->problem.profile = profile;
    return cli_set_weights(cli, &task->weights, &task->problem);
}

enum vbs_status cli_load_task(struct cli *cli, const char *const *values, const char *word,
                              struct cli_task *task, struct vbs_profile **profile, int64_t *id)
{
    VBS_TRY(cli_read_task(cli, values, task));
    VBS_TRY(cli_load_profile(cli, word, profile, id));
    return cli_set_profile(cli, *profile, task);
}

/* ---- Infeasible answers ---- */

#define SHOWN_NAME 60 /* characters of a layer's name: the line has more to tell */

static void add_us(struct vbs_text *text, double latency_us)
{
    char number[32];

    vbs_text_addf(text, "%s us", cli_format_typed(latency_us, number, sizeof number));
}

static void add_least_us(struct vbs_text *text, double latency_us)
{
    add_us(text, cli_round_up(latency_us));
}

/* Appends ", " between remedies, or "; " before the first. */
static void begin_item(struct vbs_text *text, int *n_items)
{
    vbs_text_add(text, (*n_items)++ == 0 ? "; " : ", ");
}

/* Appends text such as "; 3 bytes would do without that workspace, 5 bytes with io external". */
static void add_bytes(struct vbs_text *text, int *n_items, int64_t bytes, const char *how)
{
    if (bytes < 0)
        return;
    begin_item(text, n_items);
    vbs_text_addf(text, "%lld byte%s %s%s", (long long)bytes, bytes == 1 ? "" : "s",
                  *n_items == 1 ? "would do " : "", how);
}

static void add_latency(struct vbs_text *text, int *n_items, double latency_us, const char *how)
{
    if (latency_us < 0)
        return;
    begin_item(text, n_items);
    add_least_us(text, latency_us);
    vbs_text_addf(text, " %s%s", *n_items == 1 ? "would do " : "", how);
}

/* Appends "with planner dp-vbs+" or the like; for exact curves the planner is dp-vbs too. */
static void name_other(const struct vbs_infeasibility *infeasibility,
                       const struct vbs_planner *planner, char *how, size_t size)
{
    if (infeasibility->other == planner)
        snprintf(how, size, "without --table");
    else if (infeasibility->other)
        snprintf(how, size, "with planner %s", vbs_planner_name(infeasibility->other));
}

/* Appends ", where layer 'conv2' binds: 12 bytes of tensors and 30 of workspace at batch 1". */
static void add_binding(struct vbs_text *text, const struct vbs_profile *profile,
                        const struct vbs_infeasibility *infeasibility)
{
    const struct vbs_step *step = &infeasibility->step;

    vbs_text_add(text, ", where layer '");
    vbs_text_add_visible(text, profile->layers[step->layer].name, SHOWN_NAME);
    vbs_text_addf(text, "' binds: %lld byte%s of tensors", (long long)infeasibility->tensor_bytes,
                  infeasibility->tensor_bytes == 1 ? "" : "s");
    if (infeasibility->ws_bytes > 0)
        vbs_text_addf(text, " and %lld of workspace", (long long)infeasibility->ws_bytes);
    vbs_text_addf(text, " at batch %d", step->batch);
    if (infeasibility->extra_reserved_bytes > 0)
        vbs_text_addf(text, ", %lld more reserved", (long long)infeasibility->extra_reserved_bytes);
}

/* Appends the reason why the budget is too small. */
static void add_reason(struct vbs_text *text, const struct vbs_planner *planner,
                       const struct vbs_problem *problem, int64_t memory_bytes, bool by_latency)
{
    const char *name = vbs_planner_name(planner);
    char have[24];

    vbs_format_bytes(memory_bytes, have, sizeof have);
    if (by_latency)
        vbs_text_addf(text, "the batches that %s takes in %s answer later than ", name, have);
    else
        vbs_text_addf(text, "no schedule of %s fits %s%s", name, have,
                      problem->latency_us > 0 ? " and answers within " : "");
    if (problem->latency_us > 0)
        add_us(text, problem->latency_us);
}

/* Returns whether schedules of a profile can be executed: it was measured on a backend. The bytes
 * of others, as those to teach with, need no places. */
static bool is_executed(const struct vbs_profile *profile)
{
    const struct vbs_provenance *provenance = &profile->provenance;

    return provenance->backend && provenance->backend[0] && !vbs_provenance_modelled(provenance);
}

/* Finds the bytes in which the plan of the least budget runs; 0: they are no more, or not known. */
static enum vbs_status find_placed(struct cli *cli, const struct vbs_problem *problem,
                                   struct vbs_solver *solver, int64_t *bytes)
{
    enum vbs_status status;

    *bytes = 0;
    if (!is_executed(problem->profile))
        return VBS_OK;
    status = vbs_replan_least(&cli->ctx, solver, problem->profile, VBS_REPLAN_PLACE_S, bytes);
    if (status == VBS_NO_MEMORY || status == VBS_INTERRUPTED)
        return status;
    if (status != VBS_OK || *bytes == INT64_MAX || *bytes <= vbs_solver_least_bytes(solver))
        *bytes = 0;
    return VBS_OK;
}

/* Appends these bytes to a refusal. */
static enum vbs_status add_placed(struct cli *cli, struct vbs_text *text,
                                  const struct vbs_problem *problem, struct vbs_solver *solver)
{
    int64_t bytes;
    char need[48];

    VBS_TRY(find_placed(cli, problem, solver, &bytes));
    if (bytes > 0)
        vbs_text_addf(text, "; that plan takes %s once its buffers are placed",
                      vbs_format_exact(bytes, need, sizeof need));
    return VBS_OK;
}

static enum vbs_status tell_bytes(struct cli *cli, struct vbs_text *text,
                                  const struct vbs_planner *planner,
                                  const struct vbs_problem *problem, struct vbs_solver *solver,
                                  int64_t memory_bytes,
                                  const struct vbs_infeasibility *infeasibility)
{
    char need[48], how[64] = "";
    int n_items = 0;

    add_reason(text, planner, problem, memory_bytes, memory_bytes >= infeasibility->least_bytes);
    vbs_text_addf(text, "; the least budget is %s",
                  vbs_format_exact(infeasibility->least_bytes, need, sizeof need));
    add_binding(text, problem->profile, infeasibility);
    VBS_TRY(add_placed(cli, text, problem, solver));
    name_other(infeasibility, planner, how, sizeof how);
    add_bytes(text, &n_items, infeasibility->without_ws_bytes, "without that workspace");
    add_bytes(text, &n_items, infeasibility->external_bytes, "with io external");
    add_bytes(text, &n_items, infeasibility->without_latency_bytes, "without --latency-us");
    add_bytes(text, &n_items, infeasibility->other_bytes, how);
    return VBS_OK;
}

static void tell_latency(struct vbs_text *text, const struct vbs_planner *planner,
                         const struct vbs_problem *problem,
                         const struct vbs_infeasibility *infeasibility)
{
    char how[64] = "";
    int n_items = 0;

    vbs_text_addf(text, "no schedule of %s answers within ", vbs_planner_name(planner));
    add_us(text, problem->latency_us);
    vbs_text_addf(text, " in any memory; its least latency for %lld sample%s is ",
                  (long long)problem->request, problem->request == 1 ? "" : "s");
    add_least_us(text, infeasibility->least_latency_us);
    name_other(infeasibility, planner, how, sizeof how);
    add_latency(text, &n_items, infeasibility->external_latency_us, "with io external");
    add_latency(text, &n_items, infeasibility->other_latency_us, how);
}

/* Repeats the planner's own refusal, with a remedy where nothing can be copied. solver: null where
 * it may not have a schedule. */
static enum vbs_status repeat_refusal(struct cli *cli, const struct vbs_problem *problem,
                                      struct vbs_solver *solver, const char *refusal)
{
    struct vbs_text placed = {0};
    const char *why = "";
    enum vbs_status status = VBS_OK;

    if (solver)
        status = add_placed(cli, &placed, problem, solver);
    if (problem->weights == VBS_WEIGHTS_INCLUDED && !(problem->copy.bytes_per_us > 0))
        why = problem->profile->n_copies > 0
                  ? "; at a copy rate of 0 all weights must be resident"
                  : "; the profile has no copies, so all weights must be resident: measure copies, "
                    "or give --copy-rate";
    if (status == VBS_OK)
        status = vbs_fail(&cli->ctx, VBS_INFEASIBLE, "%s%s%s", refusal,
                          placed.data ? placed.data : "", why);
    vbs_text_clear(&placed);
    return status;
}

/* Repeats the refusal of a planner from outside, and names the least budget of the library's own.
 */
static enum vbs_status explain_outside(struct cli *cli, const struct vbs_problem *problem,
                                       const char *refusal)
{
    const char *name = problem->weights == VBS_WEIGHTS_INCLUDED ? "joint" : "dp-vbs+";
    struct vbs_solver *solver = NULL;
    const struct vbs_planner *planner;
    int64_t least;
    char need[48];

    VBS_TRY(vbs_planner_find(&cli->ctx, name, &planner));
    VBS_TRY(vbs_solver_new(&cli->ctx, planner, problem, NULL, &solver));
    least = vbs_solver_least_bytes(solver);
    vbs_solver_free(solver);
    if (least == INT64_MAX)
        return repeat_refusal(cli, problem, NULL, refusal);
    return vbs_fail(&cli->ctx, VBS_INFEASIBLE, "%s; the least budget of %s is %s", refusal, name,
                    vbs_format_exact(least, need, sizeof need));
}

enum vbs_status cli_explain(struct cli *cli, const struct vbs_planner *planner,
                            const struct vbs_problem *problem, struct vbs_solver *solver,
                            int64_t memory_bytes)
{
    struct vbs_infeasibility infeasibility;
    struct vbs_text text = {0};
    char refusal[VBS_DETAIL_SIZE];
    enum vbs_status status;

    snprintf(refusal, sizeof refusal, "%s", vbs_detail(&cli->ctx));
    if (vbs_planner_is_outside(planner))
        return explain_outside(cli, problem, refusal);
    if (problem->latency_us == 0 && vbs_solver_least_bytes(solver) == INT64_MAX)
        return repeat_refusal(cli, problem, NULL, refusal); /* its time was over */
    status = vbs_solver_explain(&cli->ctx, solver, &infeasibility);
    if (status == VBS_UNSUPPORTED)
        return repeat_refusal(cli, problem, vbs_planner_estimates(planner) ? NULL : solver,
                              refusal);
    if (status != VBS_OK)
        return status;
    if (infeasibility.least_bytes == INT64_MAX)
        tell_latency(&text, planner, problem, &infeasibility);
    else
        status = tell_bytes(cli, &text, planner, problem, solver, memory_bytes, &infeasibility);
    if (status == VBS_OK)
        status = text.failed ? vbs_no_memory(&cli->ctx)
                             : vbs_fail(&cli->ctx, VBS_INFEASIBLE, "%s", text.data);
    vbs_text_clear(&text);
    return status;
}

enum vbs_status cli_note_placed(struct cli *cli, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule)
{
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .place_limit_s = VBS_REPLAN_PLACE_S};
    struct vbs_exec_placement placement;
    enum vbs_status status;
    char bytes[48];

    if (!is_executed(profile))
        return VBS_OK;
    status = vbs_exec_place(&cli->ctx, profile, schedule, &options, &placement, NULL);
    if (status == VBS_NO_MEMORY || status == VBS_INTERRUPTED)
        return status;
    if (status == VBS_INFEASIBLE)
        cli_note(cli,
                 "once its buffers are placed, the plan takes %s, %lld more than the budget; 'run' "
                 "then takes a plan of less memory, if there is one",
                 vbs_format_exact(placement.placed_bytes, bytes, sizeof bytes),
                 (long long)(placement.placed_bytes - schedule->memory_bytes));
    return VBS_OK;
}

enum vbs_status cli_note_least(struct cli *cli, const struct vbs_problem *problem,
                               struct vbs_solver *solver)
{
    int64_t bytes;
    enum vbs_status status = find_placed(cli, problem, solver, &bytes);
    char need[48];

    if (status == VBS_OK && bytes > 0)
        cli_note(cli, "the plan of the least budget takes %s once its buffers are placed",
                 vbs_format_exact(bytes, need, sizeof need));
    return status;
}
