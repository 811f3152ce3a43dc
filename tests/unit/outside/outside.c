/* Planners from outside by the calls of the library: who frees what, when programs are run, and how
 * a caller stops them. tests/cli/outside.t tries their answers. */
#include "support/bail_out.h"
#include "support/planner.h"
#include "support/tap.h"

#include "base/ctx.h"
#include "vbslab/vbslab.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char PROFILE[] =
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place\n"
    "1,L1,conv,0,1,default,4,1,1,1,0,0\n"
    "2,L2,conv,1,1,default,4,1,1,4,0,0\n";

/* Answers each budget with one sample at a time, and notes each of its runs in the file "runs". */
static const char PROGRAM[] =
    "#!/bin/sh\n"
    "echo run >>runs\n"
    "s='{\"layer\":1,\"batch\":1,\"algorithm\":\"default\"},{\"layer\":2,\"batch\":1,"
    "\"algorithm\":\"default\"}'\n"
    "for m in $(sed -n 's/^ *\"budgets\": \\[\\(.*\\)\\],$/\\1/p' | tr -d ,); do\n"
    "echo \"{\\\"format\\\":\\\"vbslab-schedule-1\\\",\\\"request\\\":2,\\\"memory_bytes\\\":$m,"
    "\\\"steps\\\":[$s,$s]}\"\n"
    "done\n";

static char folder[] = "/tmp/vbslab-outside-XXXXXX";

static void write_program(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(name, 0755) != 0)
        bail_out("cannot write '%s'", name);
}

static long count_runs(void)
{
    struct stat about;

    return stat("runs", &about) == 0 ? (long)about.st_size / 4 : 0;
}

static void test_names(struct vbs_ctx *ctx)
{
    const struct vbs_planner *planner = NULL;

    ok(vbs_planner_load(ctx, "dp-vbs+", &planner) == VBS_OK &&
           planner == planner_named("dp-vbs+") && !vbs_planner_is_outside(planner),
       "the library's own planners are loaded by their names");
    vbs_planner_unload(planner);
    vbs_planner_unload(NULL);
    is_int(vbs_planner_load(ctx, "dpvbs", &planner), VBS_NOT_FOUND, "a name that is none");
    ok(vbs_planner_find(ctx, "exec:./program", &planner) == VBS_NOT_FOUND,
       "only loading finds planners from outside");
}

static void test_solver(struct vbs_ctx *ctx, const struct vbs_problem *problem)
{
    const int64_t budgets[] = {6, 8};
    const struct vbs_solver_options options = {
        .struct_size = sizeof options, .budgets = budgets, .n_budgets = 2};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_infeasibility why;

    ok(vbs_planner_load(ctx, "exec:./program", &planner) == VBS_OK &&
           vbs_planner_is_outside(planner) && !vbs_planner_transfers(planner) &&
           !vbs_planner_is_baseline(planner),
       "a program is loaded: %s", vbs_detail(ctx));
    ok(vbs_solver_new(ctx, planner, problem, &options, &solver) == VBS_OK && count_runs() == 1,
       "it is run once for the budgets that are known: %s", vbs_detail(ctx));
    vbs_planner_unload(planner);
    for (int i = 0; i < 2; i++) {
        ok(vbs_solver_plan(ctx, solver, budgets[i], &schedule) == VBS_OK && count_runs() == 1 &&
               strcmp(schedule->planner, "exec:program") == 0 &&
               schedule->predicted.peak_bytes == 6 && schedule->predicted.time_us == 16 &&
               schedule->memory_bytes == budgets[i] && schedule->n_steps == 4,
           "its solver outlives the hold of the planner: %s", vbs_detail(ctx));
        vbs_schedule_free(schedule);
        schedule = NULL;
    }
    ok(vbs_solver_plan(ctx, solver, 7, &schedule) == VBS_OK && count_runs() == 2,
       "another budget is another run");
    vbs_schedule_free(schedule);
    is_int(vbs_solver_plan(ctx, solver, 5, &schedule), VBS_OVER_BUDGET,
           "a plan above its budget is refused");
    is_int(vbs_solver_least_bytes(solver), 0, "its least budget is not known");
    is_int(vbs_solver_explain(ctx, solver, &why), VBS_UNSUPPORTED, "nor what would help");
    vbs_solver_free(solver);
}

/* What is left of the limit of the process is one budget after the other. */
static void test_limit(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    struct vbs_simple_options options = {.struct_size = sizeof options,
                                         .request = 2,
                                         .total_memory_bytes = (int64_t)1 << 32,
                                         .planner = "exec:./program"};
    struct vbs_schedule *schedule = NULL;

    ok(vbs_simple_plan(ctx, profile, &options, &schedule) == VBS_OK && schedule->n_steps == 4,
       "it plans within a limit of the process");
    vbs_schedule_free(schedule);
    schedule = NULL;
    write_program("declines", "#!/bin/sh\necho null\n");
    options.planner = "exec:./declines";
    options.total_memory_bytes = 1 << 10;
    is_int(vbs_simple_plan(ctx, profile, &options, &schedule), VBS_INFEASIBLE,
           "a limit that leaves nothing");
    ok(!schedule && strstr(vbs_detail(ctx), "1 KiB is the limit of the process, which took ") &&
           strstr(vbs_detail(ctx), "in an arena of 1 B: exec:declines has no schedule"),
       "is refused with numbers: %s", vbs_detail(ctx));
}

static void test_simple(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_simple_options options = {.struct_size = sizeof options,
                                               .request = 2,
                                               .memory_bytes = 6,
                                               .planner = "exec:./program"};
    struct vbs_schedule *schedule = NULL;

    ok(vbs_simple_plan(ctx, profile, &options, &schedule) == VBS_OK && schedule->n_steps == 4,
       "the simple tier takes it by its name: %s", vbs_detail(ctx));
    vbs_schedule_free(schedule);
}

static void test_compare(struct vbs_ctx *ctx, const struct vbs_problem *problem)
{
    const struct vbs_planner *planner = NULL;
    struct vbs_compare_options options = {
        .struct_size = sizeof options, .planners = &planner, .n_planners = 1};
    struct vbs_compare *compare = NULL;
    bool fits = true;

    if (vbs_planner_load(ctx, "exec:./program", &planner) != VBS_OK)
        bail_out("no program");
    ok(vbs_compare_run(ctx, problem, &options, &compare) == VBS_OK,
       "it is compared alone, over the default budgets: %s", vbs_detail(ctx));
    for (int b = 0; compare && b < compare->n_budgets; b++)
        fits = fits && compare->rows[b].feasible && compare->rows[b].per_sample_us == 8 &&
               compare->rows[b].least_bytes == 0;
    ok(compare && fits, "and has a plan for each of them");
    vbs_compare_free(compare);
    vbs_planner_unload(planner);
}

/* The program hangs, so that only the caller's wish ends it before its limit of time. */
static void test_stop(const struct vbs_problem *problem)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    write_program("hangs", "#!/bin/sh\nexec sleep 1000\n");
    if (vbs_planner_load(&ctx, "exec:./hangs", &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no program");
    ctx.cancel = &stop;
    is_int(vbs_solver_plan(&ctx, solver, 6, &schedule), VBS_INTERRUPTED, "a caller may stop it");
    vbs_solver_free(solver);
    vbs_planner_unload(planner);
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;
    struct vbs_problem problem = {.request = 2};

    if (!mkdtemp(folder) || chdir(folder) != 0 ||
        vbs_profile_parse_csv(&ctx, "test", PROFILE, sizeof PROFILE - 1, &profile) != VBS_OK)
        bail_out("cannot begin: %s", vbs_detail(&ctx));
    problem.profile = profile;
    write_program("program", PROGRAM);
    test_names(&ctx);
    test_solver(&ctx, &problem);
    test_simple(&ctx, profile);
    test_limit(&ctx, profile);
    test_compare(&ctx, &problem);
    test_stop(&problem);
    vbs_profile_free(profile);
    unlink("program");
    unlink("hangs");
    unlink("declines");
    unlink("runs");
    if (chdir("/") != 0 || rmdir(folder) != 0)
        printf("# cannot remove '%s'\n", folder);
    return done_testing();
}
