/*
 * Networks of the onednn backend by rows: plans in little memory, with weights outside the budget
 * or inside, are what the replay says, run in an arena of the budget, and give what the network
 * gives in whole samples and by the definition of its operators.
 */
#include "cases/operator_cases.h"
#include "cases/random_profile.h"
#include "cases/random_shifts.h"
#include "reference/backend/ops.h"
#include "support/model_help.h"
#include "support/session_profile.h"
#include "support/tap.h"
#include "support/trials.h"
#include "support/true_plan.h"

#include "vbslab/exec.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE   1e-4 /* of the largest value: kernels may sum in another order */
#define REQUEST     3
#define BUDGETS     4  /* of most networks */
#define MANY        16 /* budgets of networks whose plans differ much */
#define SEED        53
#define N_RANDOM    120 /* networks */
#define SLACK_BYTES (4 * VBS_WINDOW_ALIGNMENT)

/* Networks with odd heights, windows of different depth that meet in a sum, and layers at the end
 * that read whole samples. */
static const struct {
    const char *name, *text;
} CASES[] = {
    {"a chain with strides and pools",
     "model m\ninput 3x101x89\nconv a out=16 kernel=7 stride=2 pad=3\nrelu ra\nmaxpool p kernel=3 "
     "stride=2 "
     "round=up\nconv b out=24 kernel=3 pad=1\nrelu rb\nconv c out=16 kernel=3 pad=1\nrelu rc\n"
     "fc f out=10\nsoftmax s\n"},
    {"a sum behind branches of different depth",
     "model m\ninput 8x23x17\nconv a out=16 kernel=3 pad=1\nrelu ra\nconv b out=16 kernel=3 "
     "pad=1\nrelu rb\n"
     "conv c out=16 kernel=3 pad=1\nadd x from=a,c\nrelu rx\nconv d out=8 kernel=1\n"},
    {"depthwise convolutions",
     "model m\ninput 16x29x13\nconv a out=16 kernel=3 pad=1 groups=16\nrelu ra\nconv b out=32 "
     "kernel=1\n"
     "relu rb\nconv c out=32 kernel=5 pad=2 stride=2 groups=32\nconv d out=24 kernel=1\n"
     "avgpool g kernel=global\nfc f out=7\n"},
    {"a concat",
     "model m\ninput 8x41x37\nconv a out=16 kernel=1\nconv b out=8 kernel=3 pad=1 from=a\nconv c "
     "out=8 "
     "kernel=5 pad=2 from=a\nconcat x from=b,c\nmaxpool p kernel=3 stride=1 pad=1\nconv d out=8 "
     "kernel=3\n"},
    {"a mean of rows that is the output", "model m\ninput 8x29x23\nconv a out=16 kernel=3 "
                                          "pad=1\nrelu ra\nconv b out=96 kernel=1\nrelu rb\n"
                                          "avgpool g kernel=global\nrelu rg\n"},
    {"the largest of rows behind branches",
     "model m\ninput 8x27x19\nconv a out=48 kernel=1\nconv b out=48 kernel=3 pad=1 from=input\n"
     "concat x from=a,b\nmaxpool g kernel=global\nfc f out=7\n"},
};
#define N_CASES ((int)(sizeof CASES / sizeof CASES[0]))

#define CONV3(name, from, n)                                                                       \
    {                                                                                              \
        VBS_OP_CONV, name, FROM(from),                                                             \
            .attributes =                                                                          \
        {.weighted = {.out_channels = n, .groups = 1, .bias = true, .window = WINDOW(3, 1, 1, 1)}  \
        }                                                                                          \
    }

/* Networks that become larger again, which have no text. */
static const struct operator_case GROWING[] = {
    {.name = "a transposed convolution whose windows lie side by side",
     .input = DIMS(8, 46, 22),
     .nodes = {CONV3("a", 0, 16),
               {VBS_OP_HARD_SWISH, "ra", FROM(1)},
               {VBS_OP_POOL_MAX, "p", FROM(2),
                .attributes = {.pool = {.window = WINDOW(2, 2, 1, 0)}}},
               CONV3("b", 3, 24),
               {VBS_OP_CONV_TRANSPOSE, "t", FROM(4),
                .attributes = {.weighted = {.out_channels = 16,
                                            .groups = 1,
                                            .bias = true,
                                            .window = WINDOW(2, 2, 1, 0)}}},
               {VBS_OP_CONCAT, "x", FROM(2, 5), .attributes = {.concat = {.axis = 0}}},
               CONV3("c", 6, 8)}},
    {.name = "a transposed convolution whose windows overlap",
     .input = DIMS(8, 23, 11),
     .nodes = {CONV3("a", 0, 16),
               {VBS_OP_CONV_TRANSPOSE, "t", FROM(1),
                .attributes = {.weighted = {.out_channels = 16,
                                            .groups = 1,
                                            .bias = true,
                                            .window = WINDOW(4, 2, 1, 1)}}},
               {VBS_OP_LEAKY_RELU, "r", FROM(2), .attributes = {.leaky_relu = {0.1}}},
               CONV3("c", 3, 8)}},
    {.name = "resizes, and a gate",
     .input = DIMS(8, 23, 11),
     .nodes = {CONV3("a", 0, 16),
               {VBS_OP_RESIZE, "n", FROM(1),
                .attributes = {.resize = {.mode = VBS_RESIZE_NEAREST,
                                          .coordinates = VBS_COORDINATES_ASYMMETRIC,
                                          .nearest = VBS_NEAREST_FLOOR,
                                          .shape = DIMS(16, 46, 22),
                                          .scale = {1, 2, 2}}}},
               CONV3("b", 2, 8),
               {VBS_OP_MUL, "g", FROM(3), .operand = DIMS(8, 1, 1)},
               {VBS_OP_RESIZE, "l", FROM(4),
                .attributes = {.resize = {.mode = VBS_RESIZE_LINEAR,
                                          .shape = DIMS(8, 138, 22),
                                          .scale = {1, 3, 1}}}},
               {VBS_OP_CLIP, "r", FROM(5), .attributes = {.clip = {-1, 1}}},
               CONV3("c", 6, 8)}},
};
#define N_GROWING ((int)(sizeof GROWING / sizeof GROWING[0]))

/* Networks that leave out rows between layers on windows, which have no text either. */
static const struct operator_case SHIFTED[] = {
    {.name = "a slice that begins with row 2",
     .input = DIMS(3, 23, 19),
     .nodes =
         {CONV3("a", 0, 4),
          {VBS_OP_SLICE, "s", FROM(1),
           .attributes = {.slice = {.begin = {0, 2, 0}, .step = {1, 1, 1}, .count = {4, 21, 19}}}},
          CONV3("b", 2, 4)}},
    {.name = "a slice of more channels that begins with row 2",
     .input = DIMS(3, 23, 19),
     .nodes =
         {CONV3("a", 0, 16),
          {VBS_OP_SLICE, "s", FROM(1),
           .attributes = {.slice = {.begin = {0, 2, 0}, .step = {1, 1, 1}, .count = {16, 21, 19}}}},
          CONV3("b", 2, 16)}},
    {.name = "a slice of the last rows",
     .input = DIMS(3, 40, 19),
     .nodes =
         {CONV3("a", 0, 4),
          {VBS_OP_SLICE, "s", FROM(1),
           .attributes = {.slice = {.begin = {0, 33, 0}, .step = {1, 1, 1}, .count = {4, 7, 19}}}},
          CONV3("b", 2, 4)}},
    {.name = "rows cut off in front by padding, and every third one of the rest",
     .input = DIMS(3, 41, 19),
     .nodes =
         {CONV3("a", 0, 4),
          {VBS_OP_PAD, "p", FROM(1),
           .attributes = {.pad = {.before = {0, -5, 0}, .behind = {0, -2, 0}}}},
          CONV3("b", 2, 4),
          {VBS_OP_SLICE, "s", FROM(3),
           .attributes = {.slice = {.begin = {0, 4, 0}, .step = {1, 3, 1}, .count = {4, 10, 19}}}},
          CONV3("c", 4, 4)}},
};
#define N_SHIFTED ((int)(sizeof SHIFTED / sizeof SHIFTED[0]))

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
};

static struct vbs_profile *make_profile(struct subject *t)
{
    struct vbs_profile *profile = NULL;

    if (session_profile(&t->ctx, t->backend, t->network, true, &profile) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(&t->ctx));
    return profile;
}

static int64_t output_size(const struct vbs_network *network)
{
    return REQUEST * vbs_shape_elements(&network->outputs[0].shape);
}

/* Runs a schedule and gives the values of the network's output. Null: it was not run. */
static float *run(struct subject *t, const struct vbs_profile *profile,
                  const struct vbs_schedule *schedule, struct vbs_exec_placement *placement)
{
    const struct vbs_exec_options options = {
        .struct_size = sizeof options,
        .threads = 1,
        /* Buffers of whole pages may not fit the plan's bytes without holes. */
        .memory_bytes = schedule->memory_bytes + SLACK_BYTES,
        .debug_checks = true};
    float *values = calloc((size_t)output_size(t->network), sizeof *values);
    struct vbs_exec_report report = {0};
    struct vbs_exec *exec = NULL;
    enum vbs_status status = vbs_exec_new(&t->ctx, t->network, t->backend, profile, schedule,
                                          &options, placement, &exec);

    for (int i = 0; i < 2 && status == VBS_OK; i++)
        status = vbs_exec_run(&t->ctx, exec, NULL, &values, &report);
    vbs_exec_free(exec);
    if (status == VBS_OK)
        return values;
    printf("# %s\n", vbs_detail(&t->ctx));
    free(values);
    return NULL;
}

static struct vbs_solver *open_solver(struct subject *t, const struct vbs_problem *problem)
{
    const char *name = problem->weights == VBS_WEIGHTS_INCLUDED ? "joint" : "dp-vbs+";
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(&t->ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&t->ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&t->ctx));
    return solver;
}

static struct vbs_schedule *plan(struct subject *t, struct vbs_solver *solver, int64_t bytes)
{
    struct vbs_schedule *schedule = NULL;

    if (vbs_solver_plan(&t->ctx, solver, bytes, &schedule) != VBS_OK)
        bail_out("no plan: %s", vbs_detail(&t->ctx));
    return schedule;
}

static double distance(const float *a, const float *b, int64_t n)
{
    double largest = 0, most = 0;

    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs((double)b[i]));
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    }
    return most / largest;
}

static int count_windows(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    int n = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        n += schedule->steps[i].window > 0 &&
             schedule->steps[i].window < profile->layers[schedule->steps[i].layer].rows;
    return n;
}

/* Counts the steps that accumulate some rows of their input. */
static int count_sums(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    int n = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_profile_layer *layer = &profile->layers[schedule->steps[i].layer];

        n += layer->reaches && layer->reaches[0].unit == 0 && layer->reaches[0].step == 1 &&
             schedule->steps[i].rows > 0 && schedule->steps[i].rows < layer->rows;
    }
    return n;
}

static int count_loads(const struct vbs_schedule *schedule)
{
    int n = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++)
        n += schedule->steps[i].op == VBS_STEP_LOAD && !schedule->steps[i].resident;
    return n;
}

/* What came out for a network. */
struct outcome {
    int n_budgets;
    int n_true, n_run; /* plans that the replay confirms, and that were executed */
    int n_windows, n_loads, n_sums;
    int64_t least, most; /* bytes of a sample by rows and of whole samples */
    double worst;        /* difference of values, as a fraction of the largest one */
};

/* Computes the values of the network's output by the definition of its operators. */
static float *define(const struct vbs_network *network)
{
    int64_t n_input = vbs_shape_elements(&network->layers[0].shape);
    int64_t n_output = vbs_shape_elements(&network->outputs[0].shape);
    float **tensors = calloc((size_t)network->n_layers + 1, sizeof *tensors);
    float *values = calloc((size_t)output_size(network), sizeof *values);
    const float *inputs[8];

    tensors[0] = calloc((size_t)n_input, sizeof **tensors);
    for (int sample = 0; sample < REQUEST; sample++) {
        vbs_network_input_values(network, sample * n_input, n_input, tensors[0]);
        for (int k = 1; k <= network->n_layers; k++) {
            for (int i = 0; i < network->layers[k].n_inputs; i++)
                inputs[i] = tensors[network->layers[k].inputs[i]];
            tensors[k] = reference_layer(network, k, inputs);
            if (!tensors[k])
                bail_out("out of memory");
        }
        memcpy(values + sample * n_output, tensors[network->outputs[0].layer],
               (size_t)n_output * sizeof *values);
        for (int k = 1; k <= network->n_layers; k++)
            free(tensors[k]);
    }
    free(tensors[0]);
    free(tensors);
    return values;
}

/* Plans for so many bytes, runs the plan and compares its values. */
static void try_plan(struct subject *t, const struct vbs_profile *profile,
                     struct vbs_solver *solver, int64_t bytes, const float *want,
                     struct outcome *outcome)
{
    struct vbs_schedule *schedule = plan(t, solver, bytes);
    struct vbs_exec_placement placement;
    float *got = run(t, profile, schedule, &placement);

    outcome->n_true += is_true_plan(profile, schedule);
    outcome->n_run += got != NULL;
    outcome->n_windows += count_windows(profile, schedule);
    outcome->n_loads += count_loads(schedule);
    outcome->n_sums += count_sums(profile, schedule);
    if (got)
        outcome->worst = fmax(outcome->worst, distance(got, want, output_size(t->network)));
    vbs_schedule_free(schedule);
    free(got);
}

/* Runs a plan of whole samples, then plans by rows for some budgets. */
static struct outcome try_network(struct subject *t, enum vbs_io io, enum vbs_weights weights,
                                  int n_budgets)
{
    struct vbs_profile *profile = make_profile(t);
    struct vbs_problem problem = {
        .profile = profile,
        .request = REQUEST,
        .io = io,
        .weights = weights,
        .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 2000}};
    struct vbs_problem whole = problem;
    struct vbs_solver *solver = open_solver(t, &problem), *plain;
    struct outcome outcome = {.n_budgets = n_budgets, .least = vbs_solver_least_bytes(solver)},
                   ignored = {0};
    float *want = define(t->network);

    whole.whole_samples = true;
    plain = open_solver(t, &whole);
    outcome.most = vbs_solver_least_bytes(plain);
    try_plan(t, profile, plain, 4 * outcome.most, want, &ignored);
    outcome.worst = ignored.n_run == 1 ? ignored.worst : HUGE_VAL;
    for (int i = 0; i < n_budgets; i++)
        try_plan(t, profile, solver,
                 outcome.least + (outcome.most - outcome.least) * i / (n_budgets - 1), want,
                 &outcome);
    free(want);
    vbs_solver_free(plain);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
    return outcome;
}

static bool is_right(const struct outcome *outcome)
{
    return outcome->n_true == outcome->n_budgets && outcome->n_run == outcome->n_budgets &&
           outcome->worst <= TOLERANCE;
}

static void check_case(struct subject *t, const char *name, enum vbs_io io,
                       enum vbs_weights weights, int n_budgets)
{
    struct outcome o = try_network(t, io, weights, n_budgets);

    ok(is_right(&o), "%s, io %s, weights %s: %d budgets, off by at most %.1e", name,
       vbs_io_word(io), vbs_weights_word(weights), o.n_run, o.worst);
    ok((weights == VBS_WEIGHTS_EXCLUDED || o.n_loads > 0) &&
           (io == VBS_IO_RESIDENT || (o.n_windows > 0 && o.least < o.most)),
       "%s, io %s, weights %s: %d steps into windows, %d loads; %" PRId64
       " bytes instead of %" PRId64,
       name, vbs_io_word(io), vbs_weights_word(weights), o.n_windows, o.n_loads, o.least, o.most);
    if (strstr(name, "of rows") && weights == VBS_WEIGHTS_EXCLUDED)
        ok(o.n_sums > 0, "%s, io %s: %d steps accumulate", name, vbs_io_word(io), o.n_sums);
}

/* Checks cases that have no text. */
static void check_operators(struct subject *t, const struct operator_case *cases, int n,
                            int n_budgets)
{
    for (int i = 0; i < n; i++) {
        if (operator_case_network(&t->ctx, &cases[i], &t->network) != VBS_OK)
            bail_out("%s: %s", cases[i].name, vbs_detail(&t->ctx));
        check_case(t, cases[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_EXCLUDED, n_budgets);
        check_case(t, cases[i].name, VBS_IO_RESIDENT, VBS_WEIGHTS_EXCLUDED, n_budgets);
        vbs_network_free(t->network);
    }
}

/* Returns how many layers of a network that have kernels on rows begin behind row 0 of their input.
 */
static int count_shifts(struct subject *t)
{
    struct vbs_profile *profile = make_profile(t);
    int n = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        n += profile->layers[k].reaches && profile->layers[k].inputs[0] > 0 &&
             profile->layers[k].reaches[0].unit > 0 &&
             profile->layers[k].reaches[0].low >= profile->layers[k].reaches[0].unit;
    vbs_profile_free(profile);
    return n;
}

static void check_random(struct subject *t)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    int n = trials_some(N_RANDOM), n_right = 0, n_windows = 0, n_shifts = 0;
    double worst = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < n; i++) {
        struct outcome o;

        t->network = random_shifts(&t->ctx, rng, 4 + i % 5);
        if (!t->network)
            bail_out("no network: %s", vbs_detail(&t->ctx));
        o = try_network(t, i % 3 == 1 ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
                        i % 3 == 2 ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED, BUDGETS);
        if (!is_right(&o))
            printf("# network %d: %d true plans, %d run, off by %g\n", i, o.n_true, o.n_run,
                   o.worst);
        n_right += is_right(&o);
        n_windows += o.n_windows > 0;
        n_shifts += count_shifts(t);
        worst = fmax(worst, o.worst);
        vbs_network_free(t->network);
    }
    gsl_rng_free(rng);
    ok(n_right == n, "%d of %d random networks run in all budgets, off by at most %.1e", n_right, n,
       worst);
    ok(n_windows > n / 3 && n_shifts > n / 4,
       "%d of them have windows; %d layers leave out rows in front", n_windows, n_shifts);
}

int main(void)
{
    struct subject t = {0};
    struct vbs_backend_info info;

    if (vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK)
        bail_out("no backend");
    t.backend->probe(&info);
    if (!info.usable) {
        printf("1..0 # SKIP %s\n", info.why);
        return 0;
    }
    for (int i = 0; i < N_CASES; i++) {
        t.network = parse_network(CASES[i].text);
        check_case(&t, CASES[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_EXCLUDED, BUDGETS);
        check_case(&t, CASES[i].name, VBS_IO_RESIDENT, VBS_WEIGHTS_EXCLUDED, BUDGETS);
        check_case(&t, CASES[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_INCLUDED, BUDGETS);
        vbs_network_free(t.network);
    }
    check_operators(&t, GROWING, N_GROWING, BUDGETS);
    check_operators(&t, SHIFTED, N_SHIFTED, MANY);
    check_random(&t);
    return done_testing();
}
