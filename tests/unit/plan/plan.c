/*
 * Planners find the plans of examples that were computed by hand, and schedules are written to JSON
 * and read back. Properties on random networks are in properties.c.
 */
#include "plan/problem/problem.h"
#include "plan/dp/dp.h"
#include "support/planner.h"
#include "support/tap.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <unistd.h>

static const char HEADER[] = "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,"
                             "ws_bytes,weight_bytes,in_place\n";

/* The example of VBS III (docs/formats.md). */
static const char WORKED_EXAMPLE[] = "1,L1,conv,0,1,default,4,1,1,1,0,0\n"
                                     "1,L1,conv,0,2,default,6,2,2,2,0,0\n"
                                     "2,L2,conv,1,1,default,4,1,1,4,0,0\n"
                                     "2,L2,conv,1,2,default,6,2,2,8,0,0\n"
                                     "3,L3,conv,2,1,default,4,1,1,1,0,0\n"
                                     "3,L3,conv,2,2,default,6,2,2,2,0,0\n";

static struct vbs_profile *profile_of(const char *rows)
{
    char text[8192];
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;

    snprintf(text, sizeof text, "%s%s", HEADER, rows);
    if (vbs_profile_parse_csv(&ctx, "test", text, strlen(text), &profile) != VBS_OK)
        ok(0, "profile: %s", vbs_detail(&ctx));
    return profile;
}

/* One layer per edge list: n layers of out bytes[k], batches 1 and 2, no workspace. */
static struct vbs_profile *graph_of(int n, const char *const *inputs, const int *bytes)
{
    char text[8192] = "";
    size_t at = 0;

    for (int k = 1; k <= n; k++) {
        int in = 0;
        char list[64];

        snprintf(list, sizeof list, "%s", inputs[k - 1]);
        for (char *word = strtok(list, ";"); word; word = strtok(NULL, ";"))
            in += bytes[atoi(word)];
        for (int b = 1; b <= 2; b++)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "%d,L%d,conv,%s,%d,a,%d,%d,%d,0,0,0\n", k, k, inputs[k - 1], b,
                                   3 + b, in * b, bytes[k] * b);
    }
    return profile_of(text);
}

static struct vbs_schedule *plan_with(const struct vbs_profile *profile, const char *name,
                                      int64_t request, enum vbs_io io, int64_t memory_bytes,
                                      struct vbs_ctx *ctx)
{
    struct vbs_problem problem = {.profile = profile, .request = request, .io = io};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(ctx, name, &planner) == VBS_OK &&
        vbs_solver_new(ctx, planner, &problem, NULL, &solver) == VBS_OK)
        if (vbs_solver_plan(ctx, solver, memory_bytes, &schedule) != VBS_OK)
            schedule = NULL;
    vbs_solver_free(solver);
    return schedule;
}

static void worked_example(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    static const int LAYERS[] = {1, 2, 2, 3}, BATCHES[] = {2, 1, 1, 2};

    for (enum vbs_io io = VBS_IO_EXTERNAL; io <= VBS_IO_RESIDENT; io++) {
        struct vbs_ctx ctx = {0};
        struct vbs_schedule *dp = plan_with(profile, "dp-vbs", 2, io, 7, &ctx);
        struct vbs_schedule *fbs = plan_with(profile, "fbs", 2, io, 7, &ctx);
        int same = dp->n_steps == 4;

        for (int s = 0; same && s < 4; s++)
            same = dp->steps[s].layer == LAYERS[s] && dp->steps[s].batch == BATCHES[s];
        ok(same, "VBS III, io %s: 2, 1 and 1, 2", vbs_io_word(io));
        is_near(dp->predicted.time_us / 2, 10, 0, "dp-vbs takes 10 per sample");
        is_near(fbs->predicted.time_us / 2, 12, 0, "fbs takes 12 per sample");
        is_int(dp->predicted.peak_bytes, 7, "the budget is used to the byte");
        vbs_schedule_free(dp);
        vbs_schedule_free(fbs);
    }
    vbs_profile_free(profile);
}

static void infeasible_budgets(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    static const int64_t BUDGETS[] = {0, 1, 5};

    for (size_t i = 0; i < sizeof BUDGETS / sizeof BUDGETS[0]; i++) {
        struct vbs_ctx ctx = {0};

        ok(!plan_with(profile, "dp-vbs", 2, VBS_IO_EXTERNAL, BUDGETS[i], &ctx) &&
               ctx.status == VBS_INFEASIBLE,
           "a budget of %d bytes does not work", (int)BUDGETS[i]);
        ok(strstr(vbs_detail(&ctx), "least budget is 6 bytes") && strstr(vbs_detail(&ctx), "'L2'"),
           "and says what would: %s", vbs_detail(&ctx));
    }
    vbs_profile_free(profile);
}

static void odd_requests(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    static const int64_t REQUESTS[] = {0, -1, VBS_MAX_REQUEST + 1, 1000000000};
    struct vbs_schedule *seven;
    struct vbs_ctx ctx = {0};

    for (size_t i = 0; i < sizeof REQUESTS / sizeof REQUESTS[0]; i++) {
        ok(!plan_with(profile, "fbs", REQUESTS[i], VBS_IO_EXTERNAL, 100, &ctx) &&
               ctx.status == VBS_USAGE,
           "a request of %lld: %s", (long long)REQUESTS[i], vbs_detail(&ctx));
    }
    seven = plan_with(profile, "fbs", 7, VBS_IO_EXTERNAL, 100, &ctx);
    ok(seven && seven->n_steps == 12 && seven->steps[11].batch == 1 && seven->steps[8].batch == 2,
       "a rest runs in the batches that it takes");
    vbs_schedule_free(seven);
    vbs_profile_free(profile);
}

/* fbs takes the largest batch, even where a smaller one is faster. */
static void largest_is_not_best(void)
{
    struct vbs_profile *profile = profile_of("1,L1,conv,0,1,a,4,1,1,0,0,0\n"
                                             "1,L1,conv,0,2,a,9,2,2,0,0,0\n");
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *fbs = plan_with(profile, "fbs", 2, VBS_IO_EXTERNAL, 4, &ctx);
    struct vbs_schedule *best = plan_with(profile, "fbs-best", 2, VBS_IO_EXTERNAL, 4, &ctx);

    ok(fbs->n_steps == 1 && best->n_steps == 2, "fbs-best prefers the faster batch");
    vbs_schedule_free(fbs);
    vbs_schedule_free(best);
    vbs_profile_free(profile);
}

static void algorithm_by_budget(void)
{
    struct vbs_profile *profile = profile_of("1,L1,conv,0,1,slow,9,1,1,0,0,0\n"
                                             "1,L1,conv,0,1,fast,4,1,1,10,0,0\n");
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *tight = plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 11, &ctx);
    struct vbs_schedule *wide = plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 12, &ctx);

    is_str(tight->algorithms[tight->steps[0].algorithm], "slow", "one byte too few for fast");
    is_str(wide->algorithms[wide->steps[0].algorithm], "fast", "at its byte the fast one");
    vbs_schedule_free(tight);
    vbs_schedule_free(wide);
    vbs_profile_free(profile);
}

/* Writes a chain as text: layers by number, special layers as (branch|branch). */
static void describe(const struct vbs_chain *chain, char *text, size_t size)
{
    for (int i = 0; i < chain->n_items; i++) {
        const struct vbs_item *item = &chain->items[i];

        if (item->layer) {
            snprintf(text + strlen(text), size - strlen(text), "%s%d", i ? " " : "", item->layer);
            continue;
        }
        strcat(text, i ? " (" : "(");
        for (int b = 0; b < item->n_branches; b++) {
            if (b)
                strcat(text, "|");
            describe(&item->branches[b], text, size);
        }
        strcat(text, ")");
    }
}

static void structure_is(const char *name, int n, const char *const *inputs, const char *want)
{
    int bytes[16] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};
    struct vbs_profile *profile = graph_of(n, inputs, bytes);
    struct vbs_problem problem = {.profile = profile, .request = 2};
    struct vbs_arena arena = {0};
    struct vbs_chain chain;
    struct vbs_task task;
    char text[256] = "";

    if (vbs_task_init(NULL, &task, &problem) == VBS_OK) {
        if (vbs_chain_build(NULL, &task, &arena, &chain) == VBS_OK)
            describe(&chain, text, sizeof text);
        vbs_task_clear(&task);
    }
    is_str(text, want, name);
    vbs_arena_clear(&arena);
    vbs_profile_free(profile);
}

#define STRUCTURE(name, want, ...)                                                                 \
    do {                                                                                           \
        static const char *const INPUTS[] = {__VA_ARGS__};                                         \
        structure_is(name, (int)(sizeof INPUTS / sizeof INPUTS[0]), INPUTS, want);                 \
    } while (0)

static void structures(void)
{
    STRUCTURE("a chain", "1 2 3", "0", "1", "2");
    STRUCTURE("a residual block is a branch beside nothing", "1 (2 3) 4", "0", "1", "2", "3;1");
    STRUCTURE("an inception module with its concat", "1 (2|3 4) 5", "0", "1", "1", "3", "2;4");
    STRUCTURE("two modules whose concats cost nothing", "1 (2|3) (4|5) 6", "0", "1", "1", "2;3",
              "2;3", "4;5");
    STRUCTURE("nested branches", "1 (2 (3|4) 5|6) 7", "0", "1", "2", "2", "3;4", "1", "5;6");
    STRUCTURE("a network in the shape of a U", "1 (2 (3) 4) 5", "0", "1", "2", "3;2", "4;1");
    STRUCTURE("what is not series-parallel stands in a row", "1 2 3 4 5 6", "0", "1", "1", "2;3",
              "3", "4;5");
    STRUCTURE("densely connected layers stand in a row", "1 2 3 4", "0", "1", "2;1", "3;2;1");
    STRUCTURE("a branch that splits at its start", "1 ((2|3) 4|5) 6", "0", "1", "1", "2;3", "1",
              "4;5");
    STRUCTURE("an early output is a branch of its own", "1 (2) 3 4", "0", "1", "1", "3");
}

static void special_layers_reserve(void)
{
    /* The network is 1 -> (2 | 3 4) -> 5 with bytes 2, 4, 8, 16, 32. One sample at layer 3 needs 8
     * bytes beside those reserved for the block: the input 2 and the outputs 4 and 16. */
    static const char *const INPUTS[] = {"0", "1", "1", "3", "2;4"};
    static const int BYTES[] = {1, 2, 4, 8, 16, 32};
    struct vbs_profile *profile = graph_of(5, INPUTS, BYTES);
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *plan = plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 1000, &ctx);

    is_int(plan->predicted.peak_bytes, 4 + 16 + 32, "the peak is the concat");
    ok(plan->predicted.reserved_bytes >= plan->predicted.peak_bytes, "reserved at least that");
    vbs_schedule_free(plan);
    ok(!plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 51, &ctx), "one byte below is too little");
    vbs_profile_free(profile);
}

/* Layer 4 is in place and has the highest id of those that read the input, but layer 3 of the other
 * branch, which runs later, reads it too. */
static void shared_input_is_not_freed(void)
{
    struct vbs_profile *profile = profile_of("1,L1,conv,0,1,a,1,10,1,0,0,0\n"
                                             "2,L2,conv,1,1,a,1,1,1,0,0,0\n"
                                             "3,L3,conv,0;1,1,a,1,11,1,0,0,0\n"
                                             "4,L4,add,0;2,1,a,1,11,10,0,0,1\n"
                                             "5,L5,conv,4,1,a,1,10,1,0,0,0\n"
                                             "6,L6,conv,3;5,1,a,1,2,1,0,0,0\n");
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *plan;
    struct vbs_replay *replay;

    ok(!plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 23, &ctx), "23 bytes: %s",
       vbs_detail(&ctx));
    plan = plan_with(profile, "dp-vbs", 1, VBS_IO_EXTERNAL, 24, &ctx);
    ok(plan && vbs_replay_run(&ctx, profile, plan, -1, false, &replay) == VBS_OK && replay->fits,
       "an input that two branches read is not freed by the first");
    vbs_replay_free(plan ? replay : NULL);
    vbs_schedule_free(plan);
    vbs_profile_free(profile);
}

/* 1 -> (2 | 3 4) -> 5, where only 4 and 5 gain by a batch of 2 and the output of 1 fits once: the
 * batch grows within the block, behind layers before it. */
static struct vbs_profile *within_a_block(void)
{
    return profile_of("1,L1,conv,0,1,a,4,1,10,0,0,0\n"
                      "1,L1,conv,0,2,a,8,2,20,0,0,0\n"
                      "2,L2,conv,1,1,a,4,10,1,0,0,0\n"
                      "2,L2,conv,1,2,a,8,20,2,0,0,0\n"
                      "3,L3,conv,1,1,a,4,10,1,0,0,0\n"
                      "3,L3,conv,1,2,a,8,20,2,0,0,0\n"
                      "4,L4,conv,3,1,a,4,1,1,0,0,0\n"
                      "4,L4,conv,3,2,a,4,2,2,0,0,0\n"
                      "5,L5,conv,2;4,1,a,4,2,1,0,0,0\n"
                      "5,L5,conv,2;4,2,a,4,4,2,0,0,0\n");
}

static void monotone_within_a_block(void)
{
    struct vbs_profile *profile = within_a_block();
    static const struct {
        const char *planner;
        double time_us;
    } WANT[] = {{"dp-vbs", 40}, {"dp-monotone", 32}, {"dp-vbs+", 32}, {"optimal", 32}};

    for (size_t i = 0; i < sizeof WANT / sizeof WANT[0]; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_schedule *plan =
            plan_with(profile, WANT[i].planner, 2, VBS_IO_EXTERNAL, 14, &ctx);

        ok(plan && plan->predicted.time_us == WANT[i].time_us,
           "a batch that grows within a block: %s takes %g us", WANT[i].planner, WANT[i].time_us);
        vbs_schedule_free(plan);
    }
    vbs_profile_free(profile);
}

/* With so many samples optimal keeps the structure as dp-vbs+ does, and with so few nodes it does
 * not go further. */
static void hasty_optimal(void)
{
    struct vbs_profile *profile = within_a_block();
    struct vbs_problem problem = {.profile = profile, .request = 1200};
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                         .node_limit = 1};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *plan = NULL;

    ok(vbs_planner_find(NULL, "optimal", &planner) == VBS_OK &&
           vbs_solver_new(NULL, planner, &problem, &options, &solver) == VBS_OK &&
           vbs_solver_plan(NULL, solver, 14, &plan) == VBS_OK &&
           plan->predicted.time_us == 1200 * 16,
       "optimal does not lose to dp-vbs+ where it may not search");
    vbs_schedule_free(plan);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* Two samples at once are slower than one by one, but need no workspace, so that chunks of one
 * sample do not give the least budget. */
static void least_by_a_larger_chunk(void)
{
    struct vbs_profile *profile = profile_of("1,L1,conv,0,1,a,1,1,1,20,0,0\n"
                                             "1,L1,conv,0,2,a,5,2,2,0,0,0\n");
    struct vbs_problem problem = {.profile = profile, .request = 2, .latency_us = 10};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(NULL, "optimal", &planner) == VBS_OK &&
        vbs_solver_new(NULL, planner, &problem, NULL, &solver) == VBS_OK)
        is_int(vbs_solver_least_bytes(solver), 4, "the least budget is that of a larger chunk");
    else
        ok(0, "a solver");
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

static void bound_and_gap(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    struct vbs_problem problem = {.profile = profile, .request = 2};
    double bound;

    ok(vbs_bound_us(NULL, &problem, 7, &bound) == VBS_OK && bound == 20, "6 + 8 + 6 at 7 bytes");
    ok(vbs_bound_us(NULL, &problem, 12, &bound) == VBS_OK && bound == 18, "6 + 6 + 6 at 12");
    ok(vbs_bound_us(NULL, &problem, 5, &bound) == VBS_OK && isinf(bound), "none at 5");
    vbs_profile_free(profile);
}

static void json_round_trip(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *plan = plan_with(profile, "dp-vbs", 2, VBS_IO_RESIDENT, 7, &ctx);
    struct vbs_schedule *back = NULL;
    char path[] = "/tmp/vbs-plan-XXXXXX";
    int fd = mkstemp(path);

    close(fd);
    ok(vbs_schedule_write_json(&ctx, plan, path) == VBS_OK &&
           vbs_schedule_read_json(&ctx, path, &back) == VBS_OK,
       "written and read");
    ok(back && back->request == 2 && back->memory_bytes == 7 && back->io == VBS_IO_RESIDENT &&
           back->predicted.time_us == plan->predicted.time_us && back->predicted.peak_bytes == 7 &&
           back->bound.time_us == 20 && back->n_steps == 4 &&
           memcmp(back->steps, plan->steps, 4 * sizeof *back->steps) == 0 &&
           strcmp(back->planner, "dp-vbs") == 0,
       "and equal");
    unlink(path);
    vbs_schedule_free(back);
    vbs_schedule_free(plan);
    vbs_profile_free(profile);
}

/* Files of earlier versions call the hash "profile", and the number of the profile "profile_id". */
static void provenance_in_json(void)
{
#define SCHEDULE                                                                                   \
    "{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"steps\": [], "
    static const struct {
        const char *text, *name;
    } FILES[] = {
        {SCHEDULE "\"profile\": 5, \"provenance\": {\"hash\": \"abc\", \"backend\": \"onednn\", "
                  "\"date\": \"2026-11-22\"}}",
         "provenance"},
        {SCHEDULE "\"provenance\": {\"profile_id\": 5, \"profile\": \"abc\", \"backend\": "
                  "\"onednn\", \"date\": \"2026-11-22\"}}",
         "under its earlier names"},
        {SCHEDULE "\"profile\": 5, \"provenance\": {\"profile_id\": 6, \"profile\": \"old\", "
                  "\"hash\": \"abc\", \"backend\": \"onednn\", \"date\": \"2026-11-22\"}}",
         "under both: the present ones count"},
    };

    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_schedule *read = NULL;

        ok(vbs_schedule_parse_json(&ctx, "s.json", FILES[i].text, strlen(FILES[i].text), &read) ==
                   VBS_OK &&
               read->provenance.profile_id == 5 && strcmp(read->provenance.hash, "abc") == 0 &&
               strcmp(read->provenance.backend, "onednn") == 0 &&
               strcmp(read->provenance.date, "2026-11-22") == 0,
           "%s %s", FILES[i].name, vbs_detail(&ctx));
        vbs_schedule_free(read);
    }
#undef SCHEDULE
}

static void bad_json(void)
{
    static const struct {
        const char *text, *says;
    } BAD[] = {
        {"", "end of file"},
        {"[]", "not a JSON object"},
        {"{\"format\": \"x\"}", "'format' is not"},
        {"{}", "'format' is not"},
        {"{\"format\": \"vbslab-schedule-1\"}", "'request' is missing"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 0}", "'request' is out of range"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 1.5}", "not a whole number"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": -1}",
         "'memory_bytes' is out of range"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7}",
         "'steps' is missing"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"steps\": [3]}",
         "step 1: "},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"steps\": "
         "[{\"layer\": 1, \"batch\": 2}]}",
         "'algorithm' is missing"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"steps\": "
         "[{\"layer\": 1, \"batch\": 2, \"algorithm\": \"a\", \"op\": \"load\"}]}",
         "'op' moves weights"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"steps\": "
         "[{\"layer\": 1, \"batch\": 2, \"algorithm\": \"a\", \"op\": \"jump\"}]}",
         "'op' is neither"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"io\": "
         "\"somewhere\", \"steps\": []}",
         "'io' is neither"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"provenance\": "
         "{\"hash\": 3}, \"steps\": []}",
         "'provenance.hash' is not a string"},
        {"{\"format\": \"vbslab-schedule-1\", \"request\": 2, \"memory_bytes\": 7, \"profile\": "
         "-1, "
         "\"steps\": []}",
         "'profile' is out of range"},
    };

    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_schedule *schedule = NULL;

        ok(vbs_schedule_parse_json(&ctx, "s.json", BAD[i].text, strlen(BAD[i].text), &schedule) ==
                   VBS_FORMAT &&
               !schedule && strstr(vbs_detail(&ctx), BAD[i].says),
           "refused: %s", vbs_detail(&ctx));
    }
}

static void names(void)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner;

    ok(vbs_planner_find(&ctx, "dpvbs", &planner) == VBS_NOT_FOUND &&
           strstr(vbs_detail(&ctx), "'dp-vbs'"),
       "the nearest planner: %s", vbs_detail(&ctx));
}

static void cancelled(void)
{
    struct vbs_profile *profile = profile_of(WORKED_EXAMPLE);
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {.cancel = &stop};

    ok(!plan_with(profile, "dp-vbs", 2, VBS_IO_EXTERNAL, 7, &ctx) && ctx.status == VBS_INTERRUPTED,
       "planning can be interrupted");
    vbs_profile_free(profile);
}

/* The hash of a profile is the caller's to compute; without it a schedule still names the device.
 */
static void schedules_name_their_profile(void)
{
    static const char DEVICE[] = "# device: some machine\n";
    char text[sizeof DEVICE + sizeof HEADER + sizeof WORKED_EXAMPLE], hash[VBS_PROFILE_HASH_SIZE];
    struct vbs_solver_options options = {.struct_size = sizeof options};
    struct vbs_problem problem = {.request = 2};
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    snprintf(text, sizeof text, "%s%s%s", DEVICE, HEADER, WORKED_EXAMPLE);
    if (!ok(vbs_profile_parse_csv(&ctx, "test", text, strlen(text), &profile) == VBS_OK,
            "a profile that names its device"))
        return;
    problem.profile = profile;
    for (int given = 0; given <= 1; given++) {
        struct vbs_solver *solver = NULL;
        struct vbs_schedule *schedule = NULL;

        vbs_profile_hash(profile, hash);
        options.profile_hash = given ? hash : NULL;
        if (vbs_solver_new(&ctx, planner_named("fbs"), &problem, &options, &solver) == VBS_OK) {
            hash[0] = '\0'; /* the solver has its own copy */
            if (vbs_solver_plan(&ctx, solver, 1000, &schedule) != VBS_OK)
                schedule = NULL;
        }
        vbs_solver_free(solver);
        vbs_profile_hash(profile, hash);
        ok(schedule && schedule->provenance.device &&
               strcmp(schedule->provenance.device, "some machine") == 0,
           "the schedule names the device");
        if (given)
            is_str(schedule ? schedule->provenance.hash : "", hash, "and the hash that it got");
        else
            ok(schedule && !schedule->provenance.hash, "and no hash, for it got none");
        vbs_schedule_free(schedule);
    }
    options.profile_hash = "short";
    is_int(
        vbs_solver_new(&ctx, planner_named("fbs"), &problem, &options, &(struct vbs_solver *){0}),
        VBS_USAGE, "a hash of another length is refused");
    vbs_profile_free(profile);
}

int main(void)
{
    worked_example();
    infeasible_budgets();
    odd_requests();
    largest_is_not_best();
    algorithm_by_budget();
    structures();
    special_layers_reserve();
    shared_input_is_not_freed();
    monotone_within_a_block();
    hasty_optimal();
    least_by_a_larger_chunk();
    bound_and_gap();
    json_round_trip();
    provenance_in_json();
    bad_json();
    names();
    cancelled();
    schedules_name_their_profile();
    return done_testing();
}
