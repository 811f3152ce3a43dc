/* Reports: the comparison and the plans of each profile, and runs, as one JSON document. */
#include "report/html/html.h"

#include "base/fail.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vbs_page {
    char *command, *vbslab;
    int64_t max_steps; /* of one profile */
    struct vbs_text profiles, runs;
    int n_profiles, n_runs;
};

void vbs_page_free(struct vbs_page *page)
{
    if (!page)
        return;
    free(page->command);
    free(page->vbslab);
    vbs_text_clear(&page->profiles);
    vbs_text_clear(&page->runs);
    free(page);
}

enum vbs_status vbs_page_new(struct vbs_ctx *ctx, const struct vbs_page_options *options,
                             struct vbs_page **page)
{
    struct vbs_page_options own;
    struct vbs_page *made;

    VBS_TRY(vbs_options_read(ctx, "vbs_page_options", options, &own, sizeof own));
    made = calloc(1, sizeof *made);
    if (!made)
        return vbs_no_memory(ctx);
    made->max_steps = VBS_PAGE_STEPS / (own.n_profiles > 1 ? own.n_profiles : 1);
    made->command = strdup(own.command ? own.command : "");
    made->vbslab = strdup(own.vbslab ? own.vbslab : vbs_version());
    if (!made->command || !made->vbslab) {
        vbs_page_free(made);
        return vbs_no_memory(ctx);
    }
    *page = made;
    return VBS_OK;
}

/* ---- Adding a profile ---- */

static void clear_profile(struct vbs_page_profile *profile)
{
    for (int p = 0; profile->plans && p < profile->n_plans; p++)
        free(profile->plans[p].list);
    free(profile->plans);
    profile->plans = NULL;
    profile->n_plans = 0;
    vbs_page_steps_clear(&profile->steps);
    vbs_compare_free(profile->compare);
    profile->compare = NULL;
}

/* Gives the plans of a planner, which are new where they are not there yet. */
static enum vbs_status find_plans(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                  const struct vbs_planner *planner, struct vbs_page_plans **found)
{
    struct vbs_page_plans *plans;

    for (int p = 0; p < profile->n_plans; p++) {
        *found = &profile->plans[p];
        if ((*found)->planner == planner)
            return VBS_OK;
    }
    plans = realloc(profile->plans, ((size_t)profile->n_plans + 1) * sizeof *plans);
    if (!plans)
        return vbs_no_memory(ctx);
    profile->plans = plans;
    *found = &plans[profile->n_plans++];
    **found = (struct vbs_page_plans){.planner = planner, .budgets = VBS_PAGE_COMPARED};
    return VBS_OK;
}

/* Gives whether the page has a planner's plans as they are compared: made again, those of planners
 * with a limit of time could be others, and planners from outside know no frontier. */
static bool is_kept(const struct vbs_planner *planner)
{
    return vbs_planner_is_timed(planner) || vbs_planner_is_outside(planner);
}

/* Keeps the plans of such planners, and the budgets from which on they have none. */
static enum vbs_status watch(struct vbs_ctx *ctx, void *self, const struct vbs_compare_row *row,
                             const struct vbs_schedule *schedule)
{
    struct vbs_page_profile *profile = self;
    struct vbs_page_plans *plans;

    if (!is_kept(row->planner))
        return VBS_OK;
    VBS_TRY(find_plans(ctx, profile, row->planner, &plans));
    return vbs_page_plan_add(ctx, profile, plans, row->memory_bytes, schedule);
}

/* Gives the place of a planner among all; those from outside are behind them. */
static int place_of(const struct vbs_planner *planner)
{
    int i = 0;

    while (vbs_planner_at(i) && vbs_planner_at(i) != planner)
        i++;
    return i;
}

static int by_place(const void *a, const void *b)
{
    const struct vbs_page_plans *x = a, *y = b;
    int before = place_of(x->planner), behind = place_of(y->planner);

    return before != behind ? before - behind
                            : strcmp(vbs_planner_name(x->planner), vbs_planner_name(y->planner));
}

static enum vbs_status plan_all(struct vbs_ctx *ctx, struct vbs_page_profile *profile)
{
    const struct vbs_compare *compare = profile->compare;

    profile->max_steps /= compare->n_planners;
    for (int p = 0; p < compare->n_planners; p++) {
        struct vbs_page_plans *plans;

        VBS_TRY(find_plans(ctx, profile, compare->planners[p], &plans));
        if (!is_kept(compare->planners[p]))
            VBS_TRY(vbs_page_plan_all(ctx, profile, plans));
    }
    qsort(profile->plans, (size_t)profile->n_plans, sizeof *profile->plans, by_place);
    return VBS_OK;
}

/* The planners that take part where some refuse the problem. */
struct vbs_page_willing {
    const struct vbs_planner **list;
    int n;
    int64_t least_bytes; /* of all of them */
};

/* Asks one planner: it takes part, or its plans say why it is left out. */
static enum vbs_status ask(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                           const struct vbs_planner *planner, struct vbs_page_willing *willing)
{
    struct vbs_solver *solver = NULL;
    struct vbs_page_plans *plans;
    enum vbs_status status = vbs_planner_is_outside(planner)
                                 ? VBS_OK
                                 : vbs_solver_new(ctx, planner, profile->problem, NULL, &solver);

    if (status == VBS_OK && !solver) {
        willing->list[willing->n++] = planner;
    } else if (status == VBS_OK) {
        int64_t least_bytes = vbs_solver_least_bytes(solver);

        willing->list[willing->n++] = planner;
        if (least_bytes < willing->least_bytes)
            willing->least_bytes = least_bytes;
    }
    vbs_solver_free(solver);
    if (status != VBS_NO_MEMORY)
        return status;
    VBS_TRY(find_plans(ctx, profile, planner, &plans));
    snprintf(plans->refused, sizeof plans->refused, "%s", vbs_detail(ctx));
    return VBS_OK;
}

/* Asks the planners of the comparison, or of the default one. */
static enum vbs_status ask_all(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                               const struct vbs_compare_options *options,
                               struct vbs_page_willing *willing)
{
    const struct vbs_planner *planner;

    for (int i = 0; i < options->n_planners; i++)
        VBS_TRY(ask(ctx, profile, options->planners[i], willing));
    for (int i = 0; !options->planners && (planner = vbs_planner_at(i)); i++)
        if (vbs_planner_is_compared(planner, profile->problem->weights))
            VBS_TRY(ask(ctx, profile, planner, willing));
    return VBS_OK;
}

/* Compares without the planners for which the problem is too large. Where no budgets are given,
 * they go from the least to ten times as much. */
static enum vbs_status compare_willing(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                       const struct vbs_compare_options *options)
{
    struct vbs_compare_options own = *options;
    struct vbs_page_willing willing = {.least_bytes = INT64_MAX / 16};
    struct vbs_byte_range range;
    enum vbs_status status = VBS_OK;
    int n = 0;

    while (vbs_planner_at(n))
        n++;
    willing.list =
        calloc((size_t)(n > options->n_planners ? n : options->n_planners), sizeof *willing.list);
    if (!willing.list)
        return vbs_no_memory(ctx);
    status = ask_all(ctx, profile, options, &willing);
    if (status == VBS_OK && willing.n == 0)
        status = vbs_fail(ctx, VBS_NO_MEMORY, "%s", profile->plans[0].refused);
    range = (struct vbs_byte_range){.from_bytes = willing.least_bytes + 4,
                                    .to_bytes = 10 * willing.least_bytes + 40,
                                    .factor = 1.25};
    if (!own.budgets)
        own.budgets = &range;
    own.planners = willing.list;
    own.n_planners = willing.n;
    if (status == VBS_OK)
        status = vbs_compare_run(ctx, profile->problem, &own, &profile->compare);
    free(willing.list);
    return status;
}

static enum vbs_status compare_profile(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                       const struct vbs_compare_options *options)
{
    struct vbs_compare_options own;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_compare_options", options, &own, sizeof own));
    own.struct_size = sizeof own;
    own.watch = watch;
    own.watching = profile;
    profile->progress = own.progress;
    status = vbs_compare_run(ctx, profile->problem, &own, &profile->compare);
    if (status == VBS_NO_MEMORY) {
        clear_profile(profile);
        status = compare_willing(ctx, profile, &own);
    }
    if (status == VBS_OK && profile->compare->interrupted)
        status = vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
    return status;
}

enum vbs_status vbs_page_add(struct vbs_ctx *ctx, struct vbs_page *page,
                             const struct vbs_problem *problem,
                             const struct vbs_compare_options *options, int64_t profile_id,
                             int64_t judge_id)
{
    struct vbs_page_profile profile = {.problem = problem, .max_steps = page->max_steps};
    struct vbs_text text = {0};
    enum vbs_status status = compare_profile(ctx, &profile, options);

    if (status == VBS_OK)
        status = plan_all(ctx, &profile);
    if (status == VBS_OK) {
        profile.compare->profile_id = profile_id;
        profile.compare->judge_id = judge_id;
        status = vbs_page_add_profile(ctx, &text, &profile);
    }
    if (status == VBS_OK) {
        vbs_text_add(&page->profiles, page->n_profiles++ ? ",\n" : "");
        vbs_text_add_bytes(&page->profiles, text.data, text.length);
    }
    vbs_text_clear(&text);
    clear_profile(&profile);
    return status;
}

enum vbs_status vbs_page_add_run(struct vbs_ctx *ctx, struct vbs_page *page,
                                 const struct vbs_profile *profile, const struct vbs_page_run *run)
{
    struct vbs_text text = {0};
    enum vbs_status status;

    if (page->n_profiles == 0)
        return vbs_fail(ctx, VBS_USAGE, "the page has no profile to which a run belongs");
    status = vbs_page_run_add(ctx, &text, run, profile, page->n_profiles - 1);
    if (status == VBS_OK) {
        vbs_text_add(&page->runs, page->n_runs++ ? ",\n" : "");
        vbs_text_add_bytes(&page->runs, text.data, text.length);
    }
    vbs_text_clear(&text);
    return status;
}

/* ---- The file ---- */

/* Appends a list whose elements have been written. */
static void add_list(struct vbs_text *json, const char *key, const struct vbs_text *elements)
{
    vbs_text_addf(json, ",\"%s\":[\n", key);
    vbs_text_add_bytes(json, elements->data ? elements->data : "", elements->length);
    vbs_text_add(json, "]");
    json->failed = json->failed || elements->failed;
}

enum vbs_status vbs_page_write(struct vbs_ctx *ctx, const struct vbs_page *page, const char *path)
{
    struct vbs_text json = {0};
    enum vbs_status status;

    vbs_text_add(&json, "{\"format\":\"vbslab-report-1\",\"vbslab\":");
    vbs_page_add_string(&json, page->vbslab);
    vbs_text_add(&json, ",\"command\":");
    vbs_page_add_string(&json, page->command);
    add_list(&json, "profiles", &page->profiles);
    add_list(&json, "runs", &page->runs);
    vbs_text_add(&json, "}\n");
    status = vbs_page_write_file(ctx, VBS_PAGE_REPORT, &json, path);
    vbs_text_clear(&json);
    return status;
}
