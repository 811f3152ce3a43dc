/*
 * Learning from execution with weights inside the budgets, on the onednn backend, with a tiny
 * network whose profile is made up. Times are never judged.
 */
#include "support/fault.h"
#include "support/learn_help.h"
#include "support/tap.h"
#include "vbslab/simple.h"

#include <stdlib.h>

/* Most of the weights are in the last layer. */
static const char NETWORK[] = "model tiny\n"
                              "input 3x10x10\n"
                              "conv c1 out=16 kernel=3 pad=1\n"
                              "fc f out=20\n";

#define REQUEST 3

/* Its rows are large beside its weights: by rows it needs less than a whole sample. */
static const char LARGE[] = "model large\n"
                            "input 3x24x24\n"
                            "conv c1 out=32 kernel=3 pad=1\n"
                            "relu r1\n"
                            "conv c2 out=16 kernel=3 pad=1\n"
                            "fc f out=40\n";

/* Copies take 0.1 us and as long as 10,000 bytes a microsecond need, and slow down some layers. */
static const char COPIES[] = "# copy: fast,10000,1.1\n"
                             "# copy: fast,100000,10.1\n"
                             "# copy: slow,10000,5.1\n"
                             "# beside: fast,1.5";

/* Returns the profile with these copies, and frees the one without. */
static struct vbs_profile *with_copies(struct vbs_profile *profile)
{
    struct vbs_profile *copied = NULL;
    struct vbs_ctx ctx = {0};
    char *csv = NULL, *text, *at;

    if (vbs_profile_csv(&ctx, profile, &csv) != VBS_OK ||
        !(text = malloc(sizeof COPIES + 16 * VBS_MAX_LAYERS + strlen(csv))))
        bail_out("no text: %s", vbs_detail(&ctx));
    at = stpcpy(text, COPIES);
    for (int layer = 1; layer <= profile->n_layers; layer++)
        at += sprintf(at, ",%g", 1 + 0.25 * (layer % 3));
    sprintf(at, "\n%s", csv);
    if (vbs_profile_parse_csv(&ctx, "copied", text, strlen(text), &copied) != VBS_OK)
        bail_out("no copies: %s", vbs_detail(&ctx));
    free(text);
    free(csv);
    vbs_profile_free(profile);
    return copied;
}

static struct vbs_learn_options options_of(const int64_t *budgets, int n_budgets)
{
    return (struct vbs_learn_options){.struct_size = sizeof(struct vbs_learn_options),
                                      .time_limit_s = 1.2 * n_budgets,
                                      .request = REQUEST,
                                      .weights = VBS_WEIGHTS_INCLUDED,
                                      .n_budgets = n_budgets,
                                      .budgets = budgets,
                                      .threads = 1,
                                      .seed = 4};
}

/* ---- Results ---- */

static bool has_copies_of(const struct vbs_profile *learned, const struct vbs_profile *profile)
{
    bool same = learned->n_copies == profile->n_copies;

    for (int i = 0; i < profile->n_copies && same; i++) {
        const struct vbs_link *a = &learned->copies[i].link, *b = &profile->copies[i].link;

        same = strcmp(a->source, b->source) == 0 && a->latency_us == b->latency_us &&
               a->bytes_per_us == b->bytes_per_us && !a->beside == !b->beside;
        for (int layer = 0; layer <= profile->n_layers && same && a->beside; layer++)
            same = a->beside[layer] == b->beside[layer];
    }
    return same;
}

static bool is_baseline(const struct vbs_planner *planner, const char *names)
{
    return planner && strstr(names, vbs_planner_name(planner));
}

static bool has_weights_inside(const struct vbs_schedule *schedule, const char *source)
{
    return schedule->weights == VBS_WEIGHTS_INCLUDED && schedule->copy.source &&
           strcmp(schedule->copy.source, source) == 0;
}

static void budgets_are_learned(const struct tiny *tiny)
{
    const int64_t few = tiny_least_bytes(tiny, "mmcnn", VBS_WEIGHTS_INCLUDED);
    const int64_t layer = tiny_least_bytes(tiny, "vdnn", VBS_WEIGHTS_INCLUDED);
    const int64_t all = tiny_least_bytes(tiny, "fbs-best", VBS_WEIGHTS_INCLUDED);
    const int64_t budgets[] = {1, 2 * few, layer, 2 * all};
    static const char *const BASELINES[] = {"", "mmcnn", "mmcnn vdnn", "mmcnn vdnn fbs-best"};
    const struct vbs_learn_options options = options_of(budgets, 4);
    struct vbs_learned *learned;

    ok(2 * few < layer && layer < all, "baselines need more memory, the more weights stay");
    learned = tiny_learn_all(tiny, &options);
    ok(learned->budgets[0].tried && learned->budgets[0].n_schedules == 0 &&
           !learned->budgets[0].schedule && !learned->budgets[0].baseline,
       "a budget far below the weights in which nothing fits is no failure");
    for (int i = 1; i < 4; i++) {
        const struct vbs_learned_budget *b = &learned->budgets[i];

        ok(b->schedule && b->schedule->request == REQUEST &&
               has_weights_inside(b->schedule, "fast") && tiny_replays(learned->profile, b) &&
               tiny_replays(tiny->profile, b),
           "the answer of budget %d has its weights inside, and fits", i);
        ok(tiny_agrees(b), "it is not slower than the baseline, and times agree with each other");
        ok(is_baseline(b->baseline, BASELINES[i]), "the baseline is one that fits: %s",
           b->baseline ? vbs_planner_name(b->baseline) : "none");
    }
    ok(has_copies_of(learned->profile, tiny->profile), "the learned profile has the same copies");
    ok(learned->report.n_executed > 0 && learned->report.level > 0, "and rows were executed");
    vbs_learned_free(learned);
}

static void another_source_can_be_chosen(const struct tiny *tiny)
{
    const int64_t budget = 2 * tiny_least_bytes(tiny, "mmcnn", VBS_WEIGHTS_INCLUDED);
    struct vbs_learn_options options = options_of(&budget, 1);
    struct vbs_learned *learned;
    struct vbs_ctx ctx = {0};

    options.copy_source = "slow"; /* without factors */
    options.folder = "/tmp";
    if (vbs_planner_find(&ctx, "mmcnn", &options.planner) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    learned = tiny_learn_all(tiny, &options);
    ok(learned->budgets[0].schedule && has_weights_inside(learned->budgets[0].schedule, "slow"),
       "plans count with the source that is asked for");
    ok(tiny_agrees(&learned->budgets[0]) && learned->budgets[0].is_baseline &&
           strcmp(learned->budgets[0].schedule->planner, "mmcnn") == 0,
       "where the planner is a baseline, the answer is its own");
    vbs_learned_free(learned);
}

static bool loads(const struct vbs_schedule *schedule)
{
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].op == VBS_STEP_LOAD && !schedule->steps[s].resident)
            return true;
    return false;
}

static void without_copies_all_weights_are_resident(void)
{
    struct tiny tiny;
    int64_t budgets[2];
    const struct vbs_learn_options options = options_of(budgets, 2);
    struct vbs_learned *learned;
    const struct vbs_learned_budget *b;

    tiny_open(NETWORK, REQUEST, &tiny);
    budgets[1] = 2 * tiny_least_bytes(&tiny, "fbs-best", VBS_WEIGHTS_INCLUDED);
    budgets[0] = budgets[1] / 8;
    learned = tiny_learn_all(&tiny, &options);
    b = learned->budgets;
    ok(b[0].n_schedules == 0 && !b[0].schedule, "without copies, weights have to fit");
    ok(b[1].schedule && !loads(b[1].schedule) && tiny_agrees(&b[1]) &&
           is_baseline(b[1].baseline, "fbs-best"),
       "where they do, all are resident");
    vbs_learned_free(learned);
    tiny_close(&tiny);
}

/* With rows of samples, the planner needs less memory than every baseline. */
static void a_budget_may_have_no_baseline(void)
{
    const struct vbs_simple_options measure = {.struct_size = sizeof measure,
                                               .request = 2,
                                               .weights = VBS_WEIGHTS_INCLUDED,
                                               .threads = 1,
                                               .time_limit_s = 0.5,
                                               .stripes = true};
    struct tiny tiny;
    int64_t budget;
    struct vbs_learn_options options = options_of(&budget, 1);
    struct vbs_learned *learned;
    struct vbs_ctx ctx = {0};
    const struct vbs_learned_budget *b;

    options.request = 2;
    tiny_open(LARGE, 2, &tiny);
    vbs_profile_free(tiny.profile);
    if (vbs_simple_measure(&ctx, tiny.network, &measure, &tiny.profile) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    budget = tiny_least_bytes(&tiny, "mmcnn", VBS_WEIGHTS_INCLUDED) - 1;
    if (tiny_least_bytes(&tiny, "joint", VBS_WEIGHTS_INCLUDED) > budget) {
        skip("a budget may have no baseline", "no kernel by rows needs less here than mmcnn");
        tiny_close(&tiny);
        return;
    }
    learned = tiny_learn_all(&tiny, &options);
    b = learned->budgets;
    ok(b->schedule && tiny_replays(learned->profile, b) && b->n_schedules > 0 && b->time_us > 0,
       "a budget in which no baseline fits has an answer");
    ok(!b->baseline && !b->is_baseline && isnan(b->ratio) && isnan(b->baseline_us),
       "and nothing to hold it against");
    vbs_learned_free(learned);
    tiny_close(&tiny);
}

static void budgets_are_chosen(const struct tiny *tiny)
{
    struct vbs_learn_options options = options_of(NULL, 0);
    int64_t least = tiny_least_bytes(tiny, "joint", VBS_WEIGHTS_INCLUDED);
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    bool ascend = true;

    options.time_limit_s = 1e-3;
    if (tiny_learn(&ctx, tiny, &options, &learned) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (int i = 0; i < learned->n_budgets; i++)
        ascend =
            ascend && learned->budgets[i].n_schedules == 0 &&
            learned->budgets[i].memory_bytes >= (i ? learned->budgets[i - 1].memory_bytes : least);
    ok(ascend, "budgets are chosen from joint's least one on, ascending");
    vbs_learned_free(learned);
}

/* ---- Early ends ---- */

static void interruptions_end_it(const struct tiny *tiny)
{
    static const int REPORTS[] = {1, 2, 3, 5, 8};
    const int64_t budget = 2 * tiny_least_bytes(tiny, "mmcnn", VBS_WEIGHTS_INCLUDED);

    for (size_t i = 0; i < sizeof REPORTS / sizeof REPORTS[0]; i++) {
        struct tiny_stop stopping = {.n_left = REPORTS[i]};
        struct vbs_ctx ctx = {.cancel = &stopping.stop};
        struct vbs_learn_options options = options_of(&budget, 1);
        struct vbs_learned *learned = NULL;

        options.time_limit_s = 30;
        options.progress = (struct vbs_progress){&stopping, tiny_stop_soon};
        ok(tiny_learn(&ctx, tiny, &options, &learned) == VBS_INTERRUPTED && !learned,
           "a request to stop at report %d ends it", REPORTS[i]);
    }
}

static void refuses(const struct tiny *tiny, const struct vbs_learn_options *options,
                    enum vbs_status expected)
{
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = tiny_learn(&ctx, tiny, options, &learned);

    ok(status == expected && !learned, "refused: %s", vbs_detail(&ctx));
    vbs_learned_free(learned);
}

static void wrong_options_are_refused(const struct tiny *tiny)
{
    struct vbs_learn_options options = options_of(NULL, 0), outside = options;
    const struct vbs_planner *joint, *patch;
    struct vbs_ctx ctx = {0};

    outside.weights = VBS_WEIGHTS_EXCLUDED;
    options.weights = (enum vbs_weights)7;
    refuses(tiny, &options, VBS_USAGE);
    options.weights = VBS_WEIGHTS_INCLUDED;
    options.copy_source = "nowhere";
    refuses(tiny, &options, VBS_NOT_FOUND);
    if (vbs_planner_find(&ctx, "joint", &joint) != VBS_OK ||
        vbs_planner_find(&ctx, "patch", &patch) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    outside.copy_source = "fast";
    refuses(tiny, &outside, VBS_USAGE);
    outside.copy_source = NULL;
    outside.direct = true;
    refuses(tiny, &outside, VBS_USAGE);
    outside.direct = false;
    outside.planner = joint;
    refuses(tiny, &outside, VBS_USAGE);
    outside.planner = patch;
    refuses(tiny, &outside, VBS_UNSUPPORTED);
}

/* ---- Memory that runs out ---- */

static enum vbs_status learn_in(struct vbs_ctx *ctx, const void *tiny)
{
    const int64_t budget = 20000;
    struct vbs_learn_options options = options_of(&budget, 1);
    struct vbs_learned *learned = (void *)&fault_untouched;
    enum vbs_status status = tiny_learn(ctx, tiny, &options, &learned);

    if (status != VBS_OK)
        return fault_status(status, learned);
    vbs_learned_free(learned);
    return status;
}

static void memory_runs_out(const struct tiny *tiny)
{
    struct fault_trial trial = {.run = learn_in, .subject = tiny, .lasting = true, .skips = 0.5};

    fault_each(&trial);
    ok(trial.n_faults > 10 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "memory runs out at %d places", trial.n_faults);
}

int main(void)
{
    struct tiny tiny;

    tiny_open(NETWORK, REQUEST, &tiny);
    tiny.profile = with_copies(tiny.profile);
    wrong_options_are_refused(&tiny);
    budgets_are_chosen(&tiny);
    budgets_are_learned(&tiny);
    another_source_can_be_chosen(&tiny);
    without_copies_all_weights_are_resident();
    a_budget_may_have_no_baseline();
    interruptions_end_it(&tiny);
    memory_runs_out(&tiny);
    tiny_close(&tiny);
    return done_testing();
}
