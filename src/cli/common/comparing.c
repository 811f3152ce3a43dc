#include "cli/common/comparing.h"

#include "base/fail.h"
#include "base/grow.h"
#include "cli/common/list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of the options --baselines, --planners and --planner. */
struct planner_choice {
    struct cli *cli;
    const char *option;
    bool baselines, others; /* takes planners of these kinds */
    enum vbs_weights weights;
    int n_own; /* planners of the library, each of which has a place in chosen; others come behind
                */
    struct cli_comparing *comparing;
};

/* Gives whether the option may name planner. */
static bool is_allowed(const struct planner_choice *choice, const struct vbs_planner *planner)
{
    return (vbs_planner_is_baseline(planner) ? choice->baselines : choice->others) &&
           vbs_compare_can(planner, choice->weights);
}

/* Writes the names that the list may hold, such as "fbs, fbs-best", cut off where they are more
 * than size. */
static const char *list_allowed(const struct planner_choice *choice, char *names, size_t size)
{
    const struct vbs_planner *planner;
    size_t length = 0;

    names[0] = '\0';
    for (int i = 0; (planner = vbs_planner_at(i)) && length < size; i++)
        if (is_allowed(choice, planner))
            length += (size_t)snprintf(names + length, size - length, "%s%s", length ? ", " : "",
                                       vbs_planner_name(planner));
    return names;
}

/* Adds a planner from outside behind those of the library. */
static enum vbs_status add_outside(struct vbs_ctx *ctx, struct planner_choice *choice,
                                   const struct vbs_planner *planner)
{
    struct cli_comparing *comparing = choice->comparing;
    const char *name = vbs_planner_name(planner);

    for (int i = choice->n_own; i < comparing->n_planners; i++)
        if (strcmp(vbs_planner_name(comparing->planners[i]), name) == 0)
            return vbs_fail(ctx, VBS_USAGE, "two planners are called '%s'; rename one of the files",
                            name);
    VBS_TRY(vbs_grow(ctx, &comparing->planners, &comparing->capacity,
                     (int64_t)comparing->n_planners + 1, sizeof *comparing->planners));
    comparing->planners[comparing->n_planners++] = planner;
    return VBS_OK;
}

/* Gives whether "all", or no list, stands for a planner. With weights included, baselines are the
 * default ones in both cases: greedy-vbs shows nothing there that fbs does not. Planners that
 * estimate are compared where they are named. */
static bool is_meant(const struct planner_choice *choice, const struct vbs_planner *planner,
                     bool told)
{
    return is_allowed(choice, planner) &&
           ((told && !choice->baselines) || vbs_planner_is_compared(planner, choice->weights));
}

/* Adds the planners that "all", or no list (told is false), stands for. */
static void choose_all(const struct planner_choice *choice, bool told)
{
    const struct vbs_planner *planner;

    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        if (is_meant(choice, planner, told))
            choice->comparing->planners[i] = planner;
}

/* Adds the planner called item, or all of them, to self, a struct planner_choice. */
static enum vbs_status choose(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct planner_choice *choice = self;
    const struct vbs_planner *planner;
    char names[256];

    if (strcmp(item, "all") == 0) {
        choose_all(choice, true);
        return VBS_OK;
    }
    VBS_TRY(cli_find_planner(choice->cli, item, &planner));
    if (!(vbs_planner_is_baseline(planner) ? choice->baselines : choice->others))
        return vbs_fail(ctx, VBS_USAGE, "'%s' %s; %s takes all, or names out of: %s", item,
                        choice->baselines ? "is no baseline" : "is a baseline", choice->option,
                        list_allowed(choice, names, sizeof names));
    if (!is_allowed(choice, planner) && vbs_planner_estimates(planner))
        return vbs_fail(ctx, VBS_USAGE, "'%s' estimates activations alone, with weights excluded",
                        item);
    if (!is_allowed(choice, planner))
        return vbs_fail(ctx, VBS_USAGE, "'%s' copies weights; give --weights included", item);
    if (vbs_planner_is_outside(planner))
        return add_outside(ctx, choice, planner);
    for (int i = 0; i < choice->n_own; i++)
        if (vbs_planner_at(i) == planner)
            choice->comparing->planners[i] = planner;
    return VBS_OK;
}

/* Takes one list of names. */
static enum vbs_status choose_list(struct vbs_ctx *ctx, const char *list,
                                   struct planner_choice *choice)
{
    char names[256];

    if (cli_is_empty_list(list))
        return vbs_fail(ctx, VBS_USAGE, "%s names no planner; it takes all, or names out of: %s",
                        choice->option, list_allowed(choice, names, sizeof names));
    if (list)
        return cli_for_each(ctx, list, choose, choice);
    choose_all(choice, false);
    return VBS_OK;
}

/* Lists the planners of all lists in the order of all planners, those from outside behind them. */
static enum vbs_status choose_planners(struct cli *cli, const char *const *values,
                                       struct cli_comparing *comparing)
{
    struct planner_choice choice = {
        .cli = cli, .weights = comparing->weights.weights, .comparing = comparing};
    const char *further = cli_value(cli, values, "planner");
    int n = 0;

    while (vbs_planner_at(choice.n_own))
        choice.n_own++;
    comparing->planners = calloc((size_t)choice.n_own, sizeof *comparing->planners);
    if (!comparing->planners)
        return vbs_no_memory(&cli->ctx);
    comparing->n_planners = choice.n_own;
    comparing->capacity = choice.n_own;
    choice.option = "--baselines";
    choice.baselines = true;
    VBS_TRY(choose_list(&cli->ctx, cli_value(cli, values, "baselines"), &choice));
    choice.option = "--planners";
    choice.baselines = false;
    choice.others = true;
    VBS_TRY(choose_list(&cli->ctx, cli_value(cli, values, "planners"), &choice));
    choice.option = "--planner";
    choice.baselines = true;
    if (further)
        VBS_TRY(cli_for_each(&cli->ctx, further, choose, &choice));
    for (int i = 0; i < comparing->n_planners; i++)
        if (comparing->planners[i])
            comparing->planners[n++] = comparing->planners[i];
    comparing->n_planners = n;
    return VBS_OK;
}

/* Reads --time-limit, --node-limit and --seed, of which only optimal uses the last two. */
static enum vbs_status read_search(struct cli *cli, const char *const *values,
                                   struct cli_comparing *comparing)
{
    static const char *const OWN[] = {"node-limit", "seed"};
    const struct vbs_planner *optimal;
    bool compared = false;

    VBS_TRY(vbs_planner_find(&cli->ctx, "optimal", &optimal));
    VBS_TRY(cli_read_solver_options(cli, values, optimal, &comparing->search));
    for (int p = 0; p < comparing->n_planners; p++)
        compared = compared || comparing->planners[p] == optimal;
    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++)
        if (!compared && cli_value(cli, values, OWN[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--%s is for planner optimal, which is not compared", OWN[i]);
    return VBS_OK;
}

enum vbs_status cli_comparing_read(struct cli *cli, const char *const *values,
                                   struct cli_comparing *comparing)
{
    const char *memory = cli_value(cli, values, "memory"), *judge = cli_value(cli, values, "judge");

    VBS_TRY(cli_read_problem(cli, values, &comparing->problem));
    VBS_TRY(cli_read_weights(cli, values, NULL, &comparing->weights));
    comparing->has_range = memory != NULL;
    if (memory)
        VBS_TRY(vbs_parse_byte_range(&cli->ctx, memory, &comparing->range));
    VBS_TRY(choose_planners(cli, values, comparing));
    VBS_TRY(read_search(cli, values, comparing));
    if (judge)
        VBS_TRY(cli_load_profile(cli, judge, &comparing->judge, &comparing->judge_id));
    return VBS_OK;
}

void cli_comparing_clear(struct cli_comparing *comparing)
{
    vbs_profile_free(comparing->judge);
    free(comparing->planners);
    *comparing = (struct cli_comparing){0};
}

enum vbs_status cli_compared_load(struct cli *cli, const struct cli_comparing *comparing,
                                  const char *word, struct cli_compared *one)
{
    struct vbs_profile *profile = NULL;
    int64_t id;

    *one = (struct cli_compared){0};
    VBS_TRY(cli_load_profile(cli, word, &profile, &id));
    return cli_compared_take(cli, comparing, profile, id, one);
}

enum vbs_status cli_compared_take(struct cli *cli, const struct cli_comparing *comparing,
                                  struct vbs_profile *profile, int64_t id, struct cli_compared *one)
{
    *one = (struct cli_compared){
        .profile = profile,
        .profile_id = id,
        .problem = comparing->problem,
        .options =
            {
                .struct_size = sizeof(struct vbs_compare_options),
                .judge = comparing->judge,
                .budgets = comparing->has_range ? &comparing->range : NULL,
                .planners = comparing->planners,
                .n_planners = comparing->n_planners,
                .time_limit_s = comparing->search.time_limit_s,
                .progress = cli_progress(cli),
                .node_limit = comparing->search.node_limit,
                .seed = comparing->search.seed,
            },
    };
    one->problem.profile = one->profile;
    VBS_TRY(cli_set_weights(cli, &comparing->weights, &one->problem));
    one->judge_id = comparing->judge ? comparing->judge_id : one->profile_id;
    if (one->judge_id == 0)
        return VBS_OK;
    VBS_TRY(cli_open_store(cli, false, &one->store));
    VBS_TRY(vbs_store_samples_open(&cli->ctx, one->store, one->judge_id, &one->samples));
    one->options.samples = vbs_store_samples_source(one->samples);
    return VBS_OK;
}

void cli_compared_clear(struct cli_compared *one)
{
    vbs_store_samples_free(one->samples);
    vbs_store_close(one->store);
    vbs_profile_free(one->profile);
    *one = (struct cli_compared){0};
}
