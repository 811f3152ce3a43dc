/* Every allocation of loading a program from outside, asking it and judging its answers fails once,
 * and then also every one after it: the calls say so, and leave nothing behind. */
#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include "base/fail.h"
#include "vbslab/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROFILE[] =
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place\n"
    "1,L1,conv,0,1,default,4,1,1,1,0,0\n";

static const char PROGRAM[] =
    "#!/bin/sh\n"
    "echo null\n"
    "echo "
    "'{\"format\":\"vbslab-schedule-1\",\"request\":1,\"memory_bytes\":9,\"steps\":[{\"layer\":1,"
    "\"batch\":1,\"algorithm\":\"default\"}]}'\n";

static char path[] = "/tmp/vbslab-program-XXXXXX";

static enum vbs_status ask(struct vbs_ctx *ctx, const struct vbs_planner *planner,
                           const struct vbs_problem *problem)
{
    const int64_t budgets[] = {1, 9};
    const struct vbs_solver_options options = {
        .struct_size = sizeof options, .budgets = budgets, .n_budgets = 2};
    struct vbs_solver *solver = (void *)&fault_untouched;
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    enum vbs_status status = vbs_solver_new(ctx, planner, problem, &options, &solver);

    if (status != VBS_OK)
        return fault_status(status, solver);
    status = vbs_solver_plan(ctx, solver, 9, &schedule);
    if (status == VBS_OK)
        vbs_schedule_free(schedule);
    else
        status = fault_status(status, schedule);
    vbs_solver_free(solver);
    return status;
}

static enum vbs_status plan(struct vbs_ctx *ctx, const void *subject)
{
    char name[sizeof "exec:" + sizeof path];
    const struct vbs_planner *planner = (void *)&fault_untouched;
    enum vbs_status status;

    snprintf(name, sizeof name, "exec:%s", path);
    status = vbs_planner_load(ctx, name, &planner);
    if (status != VBS_OK)
        return fault_status(status, planner);
    status = ask(ctx, planner, subject);
    vbs_planner_unload(planner);
    return status;
}

int main(void)
{
    struct vbs_ctx *ctx = vbs_ctx_new();
    struct vbs_profile *profile = NULL;
    struct vbs_problem problem = {.request = 1};
    int file = mkstemp(path);

    if (file < 0 || write(file, PROGRAM, sizeof PROGRAM - 1) != (ssize_t)sizeof PROGRAM - 1 ||
        fchmod(file, 0755) != 0 || close(file) != 0 ||
        vbs_profile_parse_csv(ctx, "test", PROFILE, sizeof PROFILE - 1, &profile) != VBS_OK)
        bail_out("cannot begin: %s", vbs_detail(ctx));
    problem.profile = profile;
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = plan, .subject = &problem, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 20 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "a program is asked: %d allocations, %s", trial.n_faults, trial.way);
    }
    unlink(path);
    vbs_profile_free(profile);
    vbs_ctx_free(ctx);
    return done_testing();
}
