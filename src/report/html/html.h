/*
 * What the files of a page share, and the file of a page for commands that have pages of their own.
 *
 * A page is the template page.html with page.css, page.js, D3, a body and a script of its own
 * (report.html and report.js, explain.html and explain.js), and one JSON document: file.c puts them
 * together. Of a report (docs/report.md), plans.c finds the plans of a planner, steps.c replays
 * them and keeps their steps, pack.c writes what steps have in common only once, data.c writes the
 * JSON of a profile, runs.c reads runs that were executed, and page.c is the door.
 */
#ifndef VBS_REPORT_HTML_HTML_H
#define VBS_REPORT_HTML_HTML_H

#include "base/text.h"
#include "vbslab/report.h"

#include <stdbool.h>
#include <stdint.h>

/* A plan, with the figures of its replay, which judges it; predicted are only reserved_bytes and
 * the bound. */
struct vbs_page_plan {
    int64_t memory_bytes; /* the budget for which it was planned */
    int64_t first_step;   /* its place among the steps of the profile */
    int64_t n_steps; /* 0: the planner has no plan for this budget, and the rest means nothing */
    double time_us, compute_us, copy_us, latency_us;
    int64_t peak_bytes, peak_step;
    int64_t copied_bytes, resident_bytes, reserved_bytes;
    double bound_us, gap_percent;
};

/* How the budgets of the plans were chosen. */
enum vbs_page_budgets {
    VBS_PAGE_EXACT,    /* every budget at which the plan changes */
    VBS_PAGE_SOME,     /* some of these */
    VBS_PAGE_COMPARED, /* those of the comparison */
};

/* The plans of one planner, in the order of their budgets. */
struct vbs_page_plans {
    const struct vbs_planner *planner;
    enum vbs_page_budgets budgets;
    int n_breakpoints;             /* of the frontier; 0: not known */
    char refused[VBS_DETAIL_SIZE]; /* why the planner is left out; "": it is not */
    struct vbs_page_plan *list;
    int64_t n, capacity;
};

/* What a step of a plan is, apart from the state in which it runs: the columns of "kinds". */
enum vbs_page_key {
    VBS_PAGE_OP,
    VBS_PAGE_LAYER,
    VBS_PAGE_BATCH,
    VBS_PAGE_ALGORITHM,
    VBS_PAGE_SLICE,
    VBS_PAGE_N_SLICES,
    VBS_PAGE_BYTES,
    VBS_PAGE_FORMAT,
    VBS_PAGE_RESIDENT,
    VBS_PAGE_WAITS, /* compute: it waits for the load that is so many loads back; 0: for none */
    VBS_PAGE_ROW,   /* as in struct vbs_step; 0 of steps that compute whole samples */
    VBS_PAGE_ROWS,
    VBS_PAGE_WINDOW,
    VBS_PAGE_KEYS,
};

struct vbs_page_kind {
    int64_t key[VBS_PAGE_KEYS];
    double time_us;
    int64_t ws_bytes;
    /* Of a step that computes some rows, else 0: the bytes that its output adds, and those of the
     * network's input that it reads outside of the budget. */
    int64_t added_bytes, outside_bytes;
};

/* The steps of all plans of a profile, one plan after another: each is the number of its kind.
 * Starts as {0}. */
struct vbs_page_steps {
    struct vbs_page_kind *kinds;
    int64_t n_kinds, kinds_capacity;
    int32_t *table; /* of hashes: number of a kind + 1, or 0 */
    int64_t table_size;
    int32_t *list;
    int64_t n, capacity;
};

void vbs_page_steps_clear(struct vbs_page_steps *steps);

/* Replays a schedule, appends its steps, and fills the plan. *accepted: it keeps its budget and its
 * latency. On failure steps may have some of its kinds. */
enum vbs_status vbs_page_steps_add(struct vbs_ctx *ctx, struct vbs_page_steps *steps,
                                   const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule, struct vbs_page_plan *plan,
                                   bool *accepted) VBS_MUST_CHECK;

/* Appends the list of n numbers as an array of JSON in which -L, D stands for L numbers that are
 * the same as those D places before them. O(n). */
enum vbs_status vbs_page_pack(struct vbs_ctx *ctx, struct vbs_text *text, const int32_t *list,
                              int64_t n) VBS_MUST_CHECK;

/* Everything that a page has of one profile. */
struct vbs_page_profile {
    const struct vbs_problem *problem;
    struct vbs_compare *compare;
    struct vbs_page_steps steps;
    struct vbs_page_plans *plans; /* [n_plans] */
    int n_plans;
    int64_t max_steps; /* that the page keeps of one planner */
    struct vbs_progress progress;
};

/* Finds the plans of a planner without a limit of time for all budgets, and appends their steps.
 * Where the planner has no plan for any budget, there are none. */
enum vbs_status vbs_page_plan_all(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                  struct vbs_page_plans *plans) VBS_MUST_CHECK;

/* Appends the schedule for a budget to the plans of its planner; null: there is none from this
 * budget on. Budgets ascend. */
enum vbs_status vbs_page_plan_add(struct vbs_ctx *ctx, struct vbs_page_profile *profile,
                                  struct vbs_page_plans *plans, int64_t memory_bytes,
                                  const struct vbs_schedule *schedule) VBS_MUST_CHECK;

/* Appends a text as a string of JSON; bytes that are no UTF-8 become U+FFFD. */
void vbs_page_add_string(struct vbs_text *text, const char *string);

/* Append parts of the JSON: a row of plans; the kinds of steps, up to the list of the steps itself,
 * which vbs_page_pack appends; the link by which the replay judges copies that were planned for
 * another one, with the factors by which copies and layers slow each other down, if it has any. */
void vbs_page_add_plan(struct vbs_text *text, const struct vbs_page_plan *plan);
void vbs_page_add_kinds(struct vbs_text *text, const struct vbs_page_steps *steps);
void vbs_page_add_judging_link(struct vbs_text *text, const struct vbs_profile *profile,
                               const struct vbs_link *planned);

/* Appends the JSON object of a profile. text->failed tells of memory that ran out. */
enum vbs_status vbs_page_add_profile(struct vbs_ctx *ctx, struct vbs_text *text,
                                     const struct vbs_page_profile *profile) VBS_MUST_CHECK;

/* Replays a run, and appends its JSON object. VBS_INVALID: its schedule is none of the profile. */
enum vbs_status vbs_page_run_add(struct vbs_ctx *ctx, struct vbs_text *text,
                                 const struct vbs_page_run *run, const struct vbs_profile *profile,
                                 int profile_index) VBS_MUST_CHECK;

/* The pages that there are: each has a body and a script. */
enum vbs_page_form { VBS_PAGE_REPORT, VBS_PAGE_EXPLANATION };

/* Writes a page with a JSON document to a path, whole or not at all; "-" is standard output.
 * VBS_IO, VBS_NO_MEMORY, also where json->failed. O(length of the JSON). */
enum vbs_status vbs_page_write_file(struct vbs_ctx *ctx, enum vbs_page_form form,
                                    const struct vbs_text *json, const char *path) VBS_MUST_CHECK;

#endif
