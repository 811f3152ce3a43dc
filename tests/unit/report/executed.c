/*
 * Runs beside their replays: the CSV has the times of both, the picture has the lanes of both, and
 * missing traces are refused.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "cases/report_sample.h"
#include "support/tap.h"

#include "base/text.h"
#include "vbslab/report.h"

#include <stdlib.h>
#include <unistd.h>

/* A schedule, its replay and its run. */
struct ran {
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;
    struct vbs_replay *replay;
    struct vbs_exec_step *steps;
    struct vbs_exec_report report;
};

static void clear(struct ran *ran)
{
    free(ran->steps);
    vbs_replay_free(ran->replay);
    vbs_schedule_free(ran->schedule);
    vbs_profile_free(ran->profile);
}

static void give_up(const struct vbs_ctx *ctx)
{
    bail_out("%s", ctx->detail);
}

/* Replays, and invents a run in which every step takes twice as long and begins 0.25 us after the
 * one before it. */
static void run_slowly(struct ran *ran)
{
    struct vbs_ctx ctx = {0};
    double at_us = 0;

    if (!ran->profile || !ran->schedule ||
        vbs_replay_run(&ctx, ran->profile, ran->schedule, -1, true, &ran->replay) != VBS_OK)
        give_up(&ctx);
    ran->steps = calloc((size_t)ran->replay->n_steps, sizeof *ran->steps);
    if (!ran->steps)
        give_up(&ctx);
    for (int64_t i = 0; i < ran->replay->n_steps; i++) {
        const struct vbs_replay_step *planned = &ran->replay->steps[i];

        ran->steps[i].start_us = at_us + 0.25;
        at_us += 0.25 + 2 * (planned->end_us - planned->start_us);
        ran->steps[i].end_us = at_us;
    }
    ran->report = (struct vbs_exec_report){.time_us = at_us,
                                           .compute_us = at_us,
                                           .n_steps = ran->replay->n_steps,
                                           .steps = ran->steps};
}

/* One layer of two slices: a resident load of one, a load of the other, both computed. */
static struct ran small(void)
{
    static const char TEXT[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,channels\n"
        "1,\"a,b\",fc,0,1,default,8,4,4,0,40,0,2\n";
    static const struct vbs_step STEPS[] = {
        {.op = VBS_STEP_LOAD, .layer = 1, .slice = 1, .n_slices = 2, .bytes = 20, .resident = true},
        {.op = VBS_STEP_LOAD, .layer = 1, .slice = 2, .n_slices = 2, .bytes = 20},
        {.layer = 1, .batch = 1, .slice = 1, .n_slices = 2},
        {.layer = 1, .batch = 1, .slice = 2, .n_slices = 2},
        {.op = VBS_STEP_EVICT, .layer = 1, .slice = 2, .n_slices = 2, .bytes = 20},
    };
    static const char *const ALGORITHMS[] = {"default"};
    const struct vbs_schedule draft = {.model = "small",
                                       .planner = "hand",
                                       .request = 1,
                                       .memory_bytes = 100,
                                       .weights = VBS_WEIGHTS_INCLUDED,
                                       .copy = {.source = "given", .bytes_per_us = 10},
                                       .n_algorithms = 1,
                                       .algorithms = ALGORITHMS,
                                       .n_steps = 5,
                                       .steps = STEPS};
    struct vbs_ctx ctx = {0};
    struct ran ran = {0};

    if (vbs_profile_parse_csv(&ctx, "t.csv", TEXT, strlen(TEXT), &ran.profile) != VBS_OK ||
        vbs_schedule_copy(&ctx, &draft, &ran.schedule) != VBS_OK)
        give_up(&ctx);
    run_slowly(&ran);
    return ran;
}

static struct ran long_one(gsl_rng *rng)
{
    struct ran ran = {.profile = random_profile(rng, RANDOM_LINEAR, 6)};

    if (ran.profile)
        ran.schedule = random_schedule(rng, ran.profile, 1500, VBS_IO_EXTERNAL);
    run_slowly(&ran);
    return ran;
}

static void rows_have_both_times(const char *folder)
{
    static const char WANT[] =
        "step,op,layer,name,batch,part,parts,planned_start_us,planned_end_us,start_us,end_us,hash,"
        "backend,library,device,threads,modelled,profile\n"
        "1,load,1,\"a,b\",,1,2,0,0,0.25,0.25,%1$s,,,,,false,5\n"
        "2,load,1,\"a,b\",,2,2,0,2,0.5,4.5,%1$s,,,,,false,5\n"
        "3,compute,1,\"a,b\",1,1,2,0,4,4.75,12.75,%1$s,,,,,false,5\n"
        "4,compute,1,\"a,b\",1,2,2,4,8,13,21,%1$s,,,,,false,5\n"
        "5,drop,1,\"a,b\",,2,2,8,8,21.25,21.25,%1$s,,,,,false,5\n";
    struct ran ran = small();
    struct vbs_ctx ctx = {0};
    char path[256], hash[VBS_PROFILE_HASH_SIZE], want[1000], *text = NULL;
    size_t length;

    snprintf(path, sizeof path, "%s.csv", folder);
    ran.steps[0].start_us = 0.2500004; /* less than a clock tells */
    ran.replay->profile_id = 5;
    if (vbs_executed_write_csv(&ctx, ran.profile, ran.schedule, ran.replay, &ran.report, path) !=
            VBS_OK ||
        vbs_read_file(&ctx, path, 1 << 20, &text, &length) != VBS_OK)
        give_up(&ctx);
    vbs_profile_hash(ran.profile, hash);
    snprintf(want, sizeof want, WANT, hash);
    is_str(text, want, "a row for each step, planned and executed");
    free(text);
    unlink(path);
    clear(&ran);
}

static void what_is_not_there_is_refused(void)
{
    struct ran ran = small();
    struct vbs_exec_report blind = ran.report, shorter = ran.report, timeless = ran.report;
    struct vbs_replay bare = *ran.replay;
    struct vbs_ctx ctx = {0};

    blind.steps = NULL;
    bare.steps = NULL;
    shorter.n_steps--;
    timeless.time_us = 0;
    ok(vbs_executed_plot(&ctx, ran.profile, ran.schedule, ran.replay, &blind, NULL, "a.svg") ==
               VBS_USAGE &&
           vbs_executed_write_csv(&ctx, ran.profile, ran.schedule, ran.replay, &blind, "-") ==
               VBS_USAGE,
       "a run without a trace: %s", ctx.detail);
    ok(vbs_executed_plot(&ctx, ran.profile, ran.schedule, &bare, &ran.report, NULL, "a.svg") ==
           VBS_USAGE,
       "a replay without one: %s", ctx.detail);
    ok(vbs_executed_plot(&ctx, ran.profile, ran.schedule, ran.replay, &shorter, NULL, "a.svg") ==
           VBS_INVALID,
       "a run of other steps: %s", ctx.detail);
    ok(vbs_executed_plot(&ctx, ran.profile, ran.schedule, ran.replay, &timeless, NULL, "a.svg") ==
           VBS_UNSUPPORTED,
       "a run that took no time: %s", ctx.detail);
    ok(vbs_executed_plot(&ctx, ran.profile, ran.schedule, ran.replay, &ran.report, NULL, "a.gif") ==
           VBS_USAGE,
       "another ending: %s", ctx.detail);
    ok(access("a.svg", F_OK) != 0 && access("a.gif", F_OK) != 0, "no file is made");
    clear(&ran);
}

static char *picture(const struct ran *ran, const char *folder)
{
    struct vbs_ctx ctx = {0};
    char path[256], *text = NULL;
    size_t length;

    snprintf(path, sizeof path, "%s.svg", folder);
    if (vbs_executed_plot(&ctx, ran->profile, ran->schedule, ran->replay, &ran->report, NULL,
                          path) != VBS_OK ||
        vbs_read_file(&ctx, path, 1 << 24, &text, &length) != VBS_OK)
        printf("# %s\n", ctx.detail);
    unlink(path);
    return text ? text : strdup("");
}

static void both_are_drawn(gsl_rng *rng, const char *folder)
{
    struct ran ran = small();
    char *svg = picture(&ran, folder);

    ok(strstr(svg, "</svg>") && strstr(svg, ">planned<") && strstr(svg, ">executed<") &&
           strstr(svg, ">copy<"),
       "four lanes");
    ok(strstr(svg, "planned 8 us: computing 8 us, copying 2 us; executed 21.25 us "
                   "(+165.6%): computing 21.25 us"),
       "both times, and how they differ");
    free(svg);
    clear(&ran);
    ran = long_one(rng);
    svg = picture(&ran, folder);
    ok(strstr(svg, "</svg>") && strstr(svg, ">planned<") && !strstr(svg, ">copy<"),
       "%d steps without weights: two lanes", (int)ran.schedule->n_steps);
    ok(strlen(svg) < 4000000, "in %d bytes", (int)strlen(svg));
    is_int(report_folder_count(), 0, "no temporary file is left");
    free(svg);
    clear(&ran);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    const char *folder = report_folder();

    gsl_rng_set(rng, 20261121);
    rows_have_both_times(folder);
    what_is_not_there_is_refused();
    if (system("command -v gnuplot > /dev/null") == 0)
        both_are_drawn(rng, folder);
    else
        skip("pictures", "there is no gnuplot");
    report_folder_remove();
    gsl_rng_free(rng);
    return done_testing();
}
