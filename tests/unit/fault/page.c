/*
 * Every allocation of a page with a comparison and a run fails once, and then also every one after
 * it: the call reports it and leaves no file, or makes the page without it.
 */
#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/plan.h"
#include "vbslab/report.h"
#include "vbslab/teach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_BYTES 7

static char folder[] = "/tmp/t_fault_page.XXXXXX";
static char run_path[sizeof folder + 16], page_path[sizeof folder + 16];

struct subject {
    struct vbs_problem problem;
    struct vbs_compare_options options;
    struct vbs_byte_range budgets;
    const struct vbs_planner *planners[2];
    bool by_lexer; /* jansson's allocations fail too */
};

/* Writes the file of a run, as `vbslab run --json --steps` does, whose steps take a microsecond
 * each. */
static void write_run(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    char hash[VBS_PROFILE_HASH_SIZE], *text = NULL;
    FILE *file = fopen(run_path, "w");

    vbs_profile_hash(profile, hash);
    if (!file || vbs_schedule_json(NULL, schedule, &text) != VBS_OK)
        bail_out("cannot write %s", run_path);
    fprintf(
        file,
        "{\"format\": \"vbslab-run-1\", \"provenance\": {\"hash\": \"%s\"}, \"memory_bytes\": "
        "%d, \"measured\": {\"time_us\": 20, \"p99_us\": null}, \"memory\": {\"planned_bytes\": "
        "7}, \"schedule\": %s",
        hash, MEMORY_BYTES, text);
    for (int end = 0; end < 2; end++) {
        fprintf(file, end ? "], \"end_us\": [" : ", \"fastest\": {\"start_us\": [");
        for (int64_t s = 0; s < schedule->n_steps; s++)
            fprintf(file, s ? ", %d" : "%d", (int)s + end);
    }
    fprintf(file, "]}}\n");
    fclose(file);
    free(text);
}

static void subject_init(struct subject *subject)
{
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_profile *profile = NULL;

    *subject = (struct subject){.budgets = {6, 8, 1, 0}, .problem = {.request = 2}};
    if (vbs_teaching_profile_load(NULL, "vbs-example", &profile) != VBS_OK)
        bail_out("no profile");
    subject->problem.profile = profile;
    if (vbs_planner_find(NULL, "fbs", &subject->planners[0]) != VBS_OK ||
        vbs_planner_find(NULL, "dp-vbs", &subject->planners[1]) != VBS_OK ||
        vbs_solver_new(NULL, subject->planners[1], &subject->problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(NULL, solver, MEMORY_BYTES, &schedule) != VBS_OK)
        bail_out("cannot plan");
    subject->options =
        (struct vbs_compare_options){.struct_size = sizeof(struct vbs_compare_options),
                                     .budgets = &subject->budgets,
                                     .planners = subject->planners,
                                     .n_planners = 2};
    write_run(subject->problem.profile, schedule);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

static enum vbs_status fill(struct vbs_ctx *ctx, const struct subject *subject,
                            struct vbs_page *page)
{
    struct vbs_page_run *run = (void *)&fault_untouched;
    enum vbs_status status = vbs_page_run_read(ctx, run_path, &run);

    if (status != VBS_OK)
        return fault_status(status, run);
    status = vbs_page_run_is_of(run, subject->problem.profile)
                 ? vbs_page_add(ctx, page, &subject->problem, &subject->options, 0, 0)
                 : VBS_N_STATUS;
    if (status == VBS_OK)
        status = vbs_page_add_run(ctx, page, subject->problem.profile, run);
    vbs_page_run_free(run);
    return status;
}

static enum vbs_status make(struct vbs_ctx *ctx, const void *self)
{
    struct vbs_page *page = (void *)&fault_untouched;
    enum vbs_status status = vbs_page_new(ctx, NULL, &page);
    bool written;

    if (status != VBS_OK)
        return fault_status(status, page);
    status = fill(ctx, self, page);
    if (status == VBS_OK)
        status = vbs_page_write(ctx, page, page_path);
    vbs_page_free(page);
    written = access(page_path, F_OK) == 0;
    unlink(page_path);
    return written == (status == VBS_OK) ? status : VBS_N_STATUS;
}

/* Where one allocation of a comparison fails, a page is made with the planners for which the memory
 * suffices. jansson's lexer takes an allocation that fails in a word for a malformed word. */
static bool is_sound(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *self)
{
    const struct subject *subject = self;

    (void)n;
    return status == VBS_OK || fault_is_said(ctx, status) ||
           (status == VBS_FORMAT && ctx->status == status && subject->by_lexer);
}

static void pages_fail(const struct subject *subject, bool lasting, const char *whose)
{
    struct fault_trial trial = {
        .run = make, .subject = subject, .lasting = lasting, .is_sound = is_sound};

    fault_each(&trial);
    ok(trial.n_faults > 100 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "a page: %d allocations%s, %s", trial.n_faults, whose, trial.way);
}

int main(void)
{
    struct subject subject;

    if (!mkdtemp(folder))
        bail_out("no folder");
    snprintf(run_path, sizeof run_path, "%s/run.json", folder);
    snprintf(page_path, sizeof page_path, "%s/page.html", folder);
    subject_init(&subject);
    pages_fail(&subject, false, "");
    pages_fail(&subject, true, "");
    fault_jansson(true); /* its lexer overlooks an allocation that fails once */
    subject.by_lexer = true;
    pages_fail(&subject, true, ", those of jansson too");
    fault_jansson(false);
    unlink(run_path);
    rmdir(folder);
    vbs_profile_free((struct vbs_profile *)(uintptr_t)subject.problem.profile);
    return done_testing();
}
