/*
 * Pictures of replays: boxes and levels agree with the replay, however many steps there are, and
 * the picture shows all of them.
 */
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "cases/report_sample.h"
#include "support/tap.h"

#include "base/text.h"
#include "report/plot/gantt.h"

#include <stdlib.h>
#include <unistd.h>

#define SEED     20260612
#define N_TRIALS 200

/* A schedule and its replay. */
struct run {
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;
    struct vbs_replay *replay;
};

static void clear(struct run *run)
{
    vbs_replay_free(run->replay);
    vbs_schedule_free(run->schedule);
    vbs_profile_free(run->profile);
    *run = (struct run){0};
}

static void replay(struct run *run)
{
    struct vbs_ctx ctx = {0};

    if (!run->profile || !run->schedule ||
        vbs_replay_run(&ctx, run->profile, run->schedule, -1, true, &run->replay) != VBS_OK)
        bail_out("%s", ctx.detail);
}

/* Makes a schedule with random loads, evictions and slices; copies take a microsecond for each
 * byte. */
static struct run random_run(gsl_rng *rng)
{
    struct run run = {0};

    do {
        clear(&run);
        run.profile = random_transfer_profile(rng, BRUTE_LAYERS, 6);
        if (run.profile)
            run.schedule = random_transfer_schedule(rng, run.profile, random_int(rng, 1, 3),
                                                    VBS_IO_EXTERNAL, 4);
    } while (!run.schedule);
    run.schedule->copy = (struct vbs_link){.source = "given", .bytes_per_us = 1};
    run.schedule->memory_bytes = 1000;
    replay(&run);
    return run;
}

/* Makes thousands of steps of one sample each, without weights. */
static struct run long_run(gsl_rng *rng, int request)
{
    struct run run = {.profile = random_profile(rng, RANDOM_LINEAR, 6)};

    if (run.profile)
        run.schedule = random_schedule(rng, run.profile, request, VBS_IO_EXTERNAL);
    replay(&run);
    return run;
}

static struct vbs_gantt make(const struct run *run)
{
    struct vbs_gantt gantt;

    if (vbs_gantt_make(NULL, run->schedule, run->replay, &gantt) != VBS_OK)
        exit(1);
    return gantt;
}

/* Gives the busy time of a lane; NAN where boxes overlap, are empty or not within the request. */
static double busy_us(const struct vbs_gantt *gantt, const struct vbs_replay *ran, int lane)
{
    double sum_us = 0, last_us = 0;

    for (int i = 0; i < gantt->n_boxes; i++) {
        const struct vbs_gantt_box *box = &gantt->boxes[i];

        if (box->lane != lane)
            continue;
        if (!(box->to_us > box->from_us) || box->from_us < last_us - 1e-6 ||
            box->to_us > ran->time_us * (1 + 1e-9))
            return NAN;
        last_us = box->to_us;
        if (box->layer > 0)
            sum_us += box->to_us - box->from_us;
    }
    return sum_us;
}

static int64_t total_at(const struct vbs_gantt *gantt, double us)
{
    int i = gantt->n_levels - 1;

    while (i > 0 && gantt->levels[i].from_us > us)
        i--;
    return gantt->levels[i].weight_bytes + gantt->levels[i].live_bytes + gantt->levels[i].ws_bytes;
}

/* Counts the compute steps whose memory differs from the level in the middle of them. */
static int count_wrong_levels(const struct run *run, const struct vbs_gantt *gantt)
{
    int n_wrong = 0;

    for (int64_t s = 0; s < run->schedule->n_steps; s++) {
        const struct vbs_replay_step *ran = &run->replay->steps[s];

        if (run->schedule->steps[s].op == VBS_STEP_COMPUTE && ran->end_us > ran->start_us)
            n_wrong += total_at(gantt, (ran->start_us + ran->end_us) / 2) != ran->memory_bytes;
    }
    return n_wrong;
}

static void few_steps_are_shown_exactly(gsl_rng *rng)
{
    int n_wrong = 0, n_waits = 0;

    for (int trial = 0; trial < N_TRIALS; trial++) {
        struct run run = random_run(rng);
        struct vbs_gantt gantt = make(&run);

        if (!(fabs(busy_us(&gantt, run.replay, VBS_GANTT_COMPUTE) - run.replay->compute_us) <
              1e-6) ||
            !(fabs(busy_us(&gantt, run.replay, VBS_GANTT_COPY) - run.replay->copy_us) < 1e-6) ||
            count_wrong_levels(&run, &gantt) > 0) {
            printf("# trial %d is wrong\n", trial);
            n_wrong++;
        }
        for (int i = 0; i < gantt.n_boxes; i++)
            n_waits += gantt.boxes[i].layer == 0;
        vbs_gantt_clear(&gantt);
        clear(&run);
    }
    ok(n_wrong == 0 && n_waits > 0, "boxes and levels of %d replays, with %d waits", N_TRIALS,
       n_waits);
}

static void many_steps_become_slices(gsl_rng *rng)
{
    struct run run = long_run(rng, VBS_MAX_REQUEST);
    struct vbs_gantt gantt = make(&run);
    int64_t most = 0, want = 0;

    ok(run.schedule->n_steps > 2 * VBS_GANTT_SLICES, "%d steps", (int)run.schedule->n_steps);
    ok(gantt.n_boxes > 0 && gantt.n_boxes <= VBS_GANTT_SLICES, "%d boxes", gantt.n_boxes);
    ok(gantt.n_levels > 0 && gantt.n_levels <= VBS_GANTT_SLICES, "%d levels", gantt.n_levels);
    ok(busy_us(&gantt, run.replay, VBS_GANTT_COMPUTE) > 0.9 * run.replay->time_us,
       "computing is busy all the time");
    for (int i = 0; i < gantt.n_levels; i++) {
        int64_t total = total_at(&gantt, gantt.levels[i].from_us);

        most = total > most ? total : most;
    }
    for (int64_t s = 0; s < run.schedule->n_steps; s++) {
        const struct vbs_replay_step *ran = &run.replay->steps[s];

        if (ran->end_us > ran->start_us && ran->memory_bytes > want)
            want = ran->memory_bytes;
    }
    is_int(most, want, "the most that is held for some time is still there");
    vbs_gantt_clear(&gantt);
    clear(&run);
}

static void neighbours_of_a_layer_stay_apart(void)
{
    struct vbs_step steps[] = {{.layer = 1, .batch = 1},
                               {.layer = 1, .batch = 1},
                               {.layer = 2, .batch = 2},
                               {.layer = 3, .batch = 1},
                               {.layer = 3, .batch = 1}};
    const char *const algorithms[] = {"default"};
    struct vbs_schedule draft = {.model = "",
                                 .planner = "hand",
                                 .request = 2,
                                 .memory_bytes = 100,
                                 .n_algorithms = 1,
                                 .algorithms = algorithms,
                                 .n_steps = 5,
                                 .steps = steps};
    struct run run = {.profile = example_profile()};
    struct vbs_gantt gantt;

    if (vbs_schedule_copy(NULL, &draft, &run.schedule) != VBS_OK)
        exit(1);
    replay(&run);
    gantt = make(&run);
    is_int(gantt.n_boxes, 5, "five steps of three layers are five boxes");
    ok(gantt.boxes[0].layer == 1 && gantt.boxes[1].layer == 1, "two of the first layer");
    is_near(gantt.boxes[1].from_us, gantt.boxes[0].to_us, 1e-9, "side by side");
    ok(gantt.boxes[2].layer == 2 && gantt.boxes[2].batch == 2, "then one of two samples");
    vbs_gantt_clear(&gantt);
    clear(&run);
}

#define N_SHORT 4096 /* short steps of the first layer, and samples of the request */
#define N_LONG  8    /* long steps of the second layer, which all look the same */

/* Makes more steps than a picture can show, of which the last ones take nearly all the time. */
static struct run uneven_run(void)
{
    static const int INPUTS[] = {0, 1};
    static const char *const NAMES[] = {"first", "second"}, *const ALGORITHMS[] = {"default"};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_schedule draft = {.model = "",
                                 .planner = "hand",
                                 .request = N_SHORT,
                                 .memory_bytes = 100000,
                                 .n_algorithms = 1,
                                 .algorithms = ALGORITHMS,
                                 .n_steps = N_SHORT + N_LONG};
    struct run run = {0};
    struct vbs_step *steps = calloc(N_SHORT + N_LONG, sizeof *steps);
    bool made = builder && steps;

    for (int k = 0; made && k < 2; k++) {
        struct vbs_profile_layer layer = {.name = NAMES[k],
                                          .kind = "conv",
                                          .n_inputs = 1,
                                          .inputs = &INPUTS[k],
                                          .in_bytes = 1,
                                          .out_bytes = 1};
        struct vbs_profile_row one = {.time_us = 1}, many = {.time_us = 1e5};

        made = vbs_profile_builder_layer(NULL, builder, &layer) == VBS_OK &&
               vbs_profile_builder_row(NULL, builder, k + 1, 1, "default", &one) == VBS_OK &&
               vbs_profile_builder_row(NULL, builder, k + 1, N_SHORT / N_LONG, "default", &many) ==
                   VBS_OK;
    }
    for (int s = 0; made && s < N_SHORT + N_LONG; s++)
        steps[s] = s < N_SHORT ? (struct vbs_step){.layer = 1, .batch = 1}
                               : (struct vbs_step){.layer = 2, .batch = N_SHORT / N_LONG};
    draft.steps = steps;
    if (!made || vbs_profile_builder_finish(NULL, builder, &run.profile) != VBS_OK ||
        vbs_schedule_copy(NULL, &draft, &run.schedule) != VBS_OK)
        bail_out("no schedule");
    vbs_profile_builder_free(builder);
    free(steps);
    replay(&run);
    return run;
}

static void equal_neighbours_stay_two_among_many(void)
{
    struct run run = uneven_run();
    struct vbs_gantt gantt = make(&run);
    double slice_us = run.replay->time_us / VBS_GANTT_SLICES;
    int n_wrong = 0, first = gantt.n_boxes - N_LONG;

    ok(run.schedule->n_steps > VBS_GANTT_SLICES && gantt.n_boxes <= VBS_GANTT_SLICES && first > 1,
       "%d steps become %d boxes", (int)run.schedule->n_steps, gantt.n_boxes);
    for (int i = 0; first > 0 && i < N_LONG; i++) {
        const struct vbs_gantt_box *box = &gantt.boxes[first + i];
        const struct vbs_replay_step *ran = &run.replay->steps[N_SHORT + i];

        n_wrong += box->layer != 2 || box->batch != N_SHORT / N_LONG ||
                   fabs(box->from_us - ran->start_us) > slice_us ||
                   fabs(box->to_us - ran->end_us) > slice_us;
    }
    is_int(n_wrong, 0, "of which each long step is one, with its batch, beside others like it");
    ok(first > 0 && gantt.boxes[first - 1].layer == 1 && gantt.boxes[first - 1].batch == 1,
       "and those before it are of the short ones");
    vbs_gantt_clear(&gantt);
    clear(&run);
}

static char *picture(const struct run *run, const char *path, struct vbs_ctx *ctx)
{
    char *text = NULL;
    size_t length;

    if (vbs_replay_plot(ctx, run->profile, run->schedule, run->replay, NULL, path) != VBS_OK ||
        vbs_read_file(NULL, path, 1 << 24, &text, &length) != VBS_OK)
        return strdup("");
    return text;
}

static void what_cannot_be_drawn_is_refused(gsl_rng *rng)
{
    struct run run = random_run(rng);
    struct vbs_replay *bare = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_replay_plot(&ctx, run.profile, run.schedule, run.replay, NULL, "a.gif") == VBS_USAGE,
       "another ending: %s", ctx.detail);
    if (vbs_replay_run(NULL, run.profile, run.schedule, -1, false, &bare) != VBS_OK)
        exit(1);
    ok(vbs_replay_plot(&ctx, run.profile, run.schedule, bare, NULL, "a.svg") == VBS_USAGE,
       "no trace: %s", ctx.detail);
    vbs_replay_free(bare);
    run.replay->time_us = 0;
    ok(vbs_replay_plot(&ctx, run.profile, run.schedule, run.replay, NULL, "a.svg") ==
           VBS_UNSUPPORTED,
       "no time: %s", ctx.detail);
    ok(access("a.svg", F_OK) != 0 && access("a.gif", F_OK) != 0, "no file is made");
    clear(&run);
}

static void hostile_names_are_only_names(gsl_rng *rng, const char *folder)
{
    static const char *const NAMES[] = {"`touch x`", "'.system('touch x').'",
                                        "a'\nsystem 'touch x'", "\xff<script>", "@x $(touch x)"};
    struct run run = random_run(rng);
    char path[256];
    int n_wrong = 0;

    snprintf(path, sizeof path, "%s.svg", folder);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct vbs_schedule named = *run.schedule;
        struct run drawn = {run.profile, &named, run.replay};
        struct vbs_ctx ctx = {0};
        char *svg;

        named.model = named.planner = NAMES[i];
        svg = picture(&drawn, path, &ctx);
        if (!strstr(svg, "</svg>") || strstr(svg, "<script>") || access("x", F_OK) == 0) {
            printf("# '%zu': %s\n", i, ctx.detail);
            n_wrong++;
        }
        free(svg);
    }
    is_int(n_wrong, 0, "hostile names are drawn and not run");
    unlink(path);
    clear(&run);
}

static void thousands_of_steps_are_drawn(gsl_rng *rng, const char *folder)
{
    struct run run = long_run(rng, VBS_MAX_REQUEST);
    struct vbs_ctx ctx = {0};
    char path[256], *svg;

    snprintf(path, sizeof path, "%s.svg", folder);
    svg = picture(&run, path, &ctx);
    ok(strstr(svg, "</svg>"), "%d steps are drawn: %s", (int)run.schedule->n_steps, ctx.detail);
    ok(strlen(svg) < 5000000, "in %d bytes", (int)strlen(svg));
    ok(strstr(svg, ">tensors<") && !strstr(svg, ">weights<"), "without weights");
    is_int(report_folder_count(), 0, "no temporary file is left");
    free(svg);
    unlink(path);
    clear(&run);
}

static int count(const char *text, const char *part)
{
    int n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* Draws short steps beside long ones, of which the first of a kind has a name that is too long. */
static void labels_are_names_and_batches(const char *folder)
{
    static const char *const LONG[] = {"", "a-name-that-is-longer-than-all-boxes-of-this-layer",
                                       "a-name-that-is-longer-than-all-boxes-of-this-layer"};
    struct run run = uneven_run();
    struct vbs_profile_layer *layers;
    struct vbs_profile renamed = *run.profile;
    struct run drawn = {&renamed, run.schedule, run.replay};
    struct vbs_ctx ctx = {0};
    char path[256], *svg;

    snprintf(path, sizeof path, "%s.svg", folder);
    svg = picture(&run, path, &ctx);
    is_int(count(svg, ">second x512<"), N_LONG, "each long step has its name and its batch");
    ok(!strstr(svg, ">first"), "and short ones have none");
    free(svg);
    layers = malloc(3 * sizeof *layers);
    if (!layers)
        bail_out("no memory");
    memcpy(layers, run.profile->layers, 3 * sizeof *layers);
    for (int k = 1; k <= 2; k++)
        layers[k].name = LONG[k];
    renamed.layers = layers;
    svg = picture(&drawn, path, &ctx);
    is_int(count(svg, ">#2 x512<"), N_LONG, "a name that is too long gives way to its number");
    free(svg);
    free(layers);
    unlink(path);
    clear(&run);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    const char *folder = report_folder();

    gsl_rng_set(rng, SEED);
    printf("# seed %d\n", SEED);
    few_steps_are_shown_exactly(rng);
    many_steps_become_slices(rng);
    neighbours_of_a_layer_stay_apart();
    equal_neighbours_stay_two_among_many();
    what_cannot_be_drawn_is_refused(rng);
    if (system("command -v gnuplot > /dev/null") == 0) {
        hostile_names_are_only_names(rng, folder);
        thousands_of_steps_are_drawn(rng, folder);
        labels_are_names_and_batches(folder);
    } else {
        skip("pictures", "there is no gnuplot");
    }
    report_folder_remove();
    gsl_rng_free(rng);
    return done_testing();
}
