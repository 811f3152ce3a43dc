/*
 * Every allocation of an explanation fails once, and then also every one after it: the call reports
 * it, gives nothing, and leaves a solver that explains its plan as before.
 */
#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/explain.h"
#include "vbslab/teach.h"

#include <stdlib.h>

#define MEMORY_BYTES 7

struct subject {
    struct vbs_solver *solver;
    struct vbs_explain_options options;
    int n_decisions;
    int64_t n_cells;
};

static enum vbs_status explain(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_explanation *made = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_solver_explain_plan(ctx, subject->solver, MEMORY_BYTES, &subject->options, &made);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, made);
    same = made->n_decisions == subject->n_decisions && made->n_cells == subject->n_cells;
    vbs_explanation_free(made);
    return same ? VBS_OK : VBS_N_STATUS;
}

/* Opens the solver, and explains without a fault. */
static void subject_init(struct subject *subject, const char *name, int64_t table_bytes,
                         const struct vbs_problem *problem)
{
    struct vbs_solver_options options = {.struct_size = sizeof options, .table_bytes = table_bytes};
    const struct vbs_planner *planner;
    struct vbs_explanation *made;
    struct vbs_ctx ctx = {0};

    *subject = (struct subject){.options = {.struct_size = sizeof subject->options,
                                            .with_cells = table_bytes > 0,
                                            .with_curves = true}};
    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, &options, &subject->solver) != VBS_OK ||
        vbs_solver_explain_plan(&ctx, subject->solver, MEMORY_BYTES, &subject->options, &made) !=
            VBS_OK)
        bail_out("%s: %s", name, ctx.detail);
    subject->n_decisions = made->n_decisions;
    subject->n_cells = made->n_cells;
    vbs_explanation_free(made);
}

static void explanations_fail(const char *name, int64_t table_bytes,
                              const struct vbs_problem *problem)
{
    struct subject subject;

    subject_init(&subject, name, table_bytes, problem);
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = explain, .subject = &subject, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 2 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%s%s: %d allocations, %s", name, table_bytes ? " with a table" : "", trial.n_faults,
           trial.way);
    }
    vbs_solver_free(subject.solver);
}

int main(void)
{
    static const char *const NAMES[] = {"dp-vbs", "dp-vbs+", "dp-monotone", "fbs", "optimal"};
    struct vbs_problem problem = {.request = 2};
    struct vbs_profile *profile = NULL;

    if (vbs_teaching_profile_load(NULL, "vbs-example", &profile) != VBS_OK)
        bail_out("no profile");
    problem.profile = profile;
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        explanations_fail(NAMES[i], 0, &problem);
    explanations_fail("dp-vbs", 1, &problem);
    vbs_profile_free(profile);
    return done_testing();
}
