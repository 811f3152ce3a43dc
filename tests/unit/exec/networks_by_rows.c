/*
 * Networks of the onednn backend by rows: plans in little memory, with weights outside the budget
 * or inside, run in an arena of the budget and give what the network gives in whole samples.
 */
#include "cases/operator_cases.h"
#include "support/model_help.h"
#include "base/fail.h"
#include "support/tap.h"

#include "vbslab/exec.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-4 /* of the largest value: kernels may sum in another order */
#define REQUEST   3

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

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
};

/* A time that grows with the work and does not depend on the machine. */
static double time_of(const struct vbs_session *session, const struct vbs_kernel *kernel)
{
    const struct vbs_profile_layer *layer = &session->layers[kernel->layer];
    double rows = kernel->rows > 0 ? (double)kernel->rows / layer->rows : 1;

    return 10 + kernel->batch * rows * (double)layer->out_bytes / 1000;
}

/* Adds the layers and the kernels of a session to a profile. */
static enum vbs_status add_session(struct vbs_ctx *ctx, const struct vbs_session *session,
                                   struct vbs_profile_builder *builder)
{
    VBS_TRY(vbs_profile_builder_input_rows(ctx, builder, session->layers[0].rows));
    for (int k = 1; k <= session->n_layers; k++)
        VBS_TRY(vbs_profile_builder_layer(ctx, builder, &session->layers[k]));
    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];
        const struct vbs_profile_row row = {.time_us = time_of(session, kernel),
                                            .ws_bytes = kernel->ws_bytes,
                                            .weight_bytes = kernel->weight_bytes,
                                            .format = kernel->format,
                                            .n_slices = kernel->row_slices,
                                            .rows = kernel->rows};

        VBS_TRY(vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch,
                                        kernel->algorithm, &row));
    }
    return vbs_profile_builder_provenance(ctx, builder, &session->provenance);
}

static struct vbs_profile *make_profile(struct subject *t, bool stripes)
{
    static const int BATCHES[] = {1, 2};
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = BATCHES,
                                                .n_batches = 2,
                                                .threads = 1,
                                                .stripes = stripes};
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_session *session = NULL;
    struct vbs_profile *profile = NULL;
    enum vbs_status status = t->backend->open(&t->ctx, t->network, &options, &session);

    if (status == VBS_OK)
        status = add_session(&t->ctx, session, builder);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&t->ctx, builder, &profile);
    vbs_profile_builder_free(builder);
    if (session)
        session->ops->close(session);
    if (status != VBS_OK)
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
        /* Weights between windows may leave holes of less than a page. */
        .memory_bytes = schedule->memory_bytes +
                        (schedule->weights == VBS_WEIGHTS_INCLUDED ? 2 * VBS_WINDOW_ALIGNMENT : 0),
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

/* Runs plans by rows for some budgets, and compares them with whole samples. */
static void check_case(struct subject *t, const char *name, enum vbs_io io,
                       enum vbs_weights weights)
{
    struct vbs_profile *profile = make_profile(t, true);
    struct vbs_problem problem = {
        .profile = profile,
        .request = REQUEST,
        .io = io,
        .weights = weights,
        .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 2000}};
    struct vbs_problem whole = problem;
    struct vbs_solver *solver = open_solver(t, &problem), *plain;
    struct vbs_exec_placement placement;
    struct vbs_schedule *schedule;
    int64_t least = vbs_solver_least_bytes(solver), most;
    float *want, *got;
    double worst = 0;
    int n_windows = 0, n_loads = 0, n_sums = 0, n_run = 0;

    whole.whole_samples = true;
    plain = open_solver(t, &whole);
    most = vbs_solver_least_bytes(plain);
    schedule = plan(t, plain, 4 * most);
    want = run(t, profile, schedule, &placement);
    vbs_schedule_free(schedule);
    if (!want)
        bail_out("whole samples do not run");
    for (int i = 0; i < 4; i++) {
        /* Buffers of whole pages may not fit the least budget without holes. */
        int64_t bytes = least + 16384 + (most - least) * i / 3;

        schedule = plan(t, solver, bytes);
        n_windows += count_windows(profile, schedule);
        n_loads += count_loads(schedule);
        n_sums += count_sums(profile, schedule);
        got = run(t, profile, schedule, &placement);
        n_run += got != NULL;
        worst = got ? fmax(worst, distance(got, want, output_size(t->network))) : worst;
        vbs_schedule_free(schedule);
        free(got);
    }
    ok(n_run == 4 && worst <= TOLERANCE, "%s, io %s, weights %s: four budgets, off by at most %.1e",
       name, vbs_io_word(io), vbs_weights_word(weights), worst);
    ok((weights == VBS_WEIGHTS_EXCLUDED || n_loads > 0) &&
           (io == VBS_IO_RESIDENT || (n_windows > 0 && least < most)),
       "%s, io %s, weights %s: %d steps into windows, %d loads; %" PRId64
       " bytes instead of %" PRId64,
       name, vbs_io_word(io), vbs_weights_word(weights), n_windows, n_loads, least, most);
    if (strstr(name, "of rows") && weights == VBS_WEIGHTS_EXCLUDED)
        ok(n_sums > 0, "%s, io %s: %d steps accumulate", name, vbs_io_word(io), n_sums);
    free(want);
    vbs_solver_free(plain);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
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
        check_case(&t, CASES[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_EXCLUDED);
        check_case(&t, CASES[i].name, VBS_IO_RESIDENT, VBS_WEIGHTS_EXCLUDED);
        check_case(&t, CASES[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_INCLUDED);
        vbs_network_free(t.network);
    }
    for (int i = 0; i < N_GROWING; i++) {
        if (operator_case_network(&t.ctx, &GROWING[i], &t.network) != VBS_OK)
            bail_out("%s: %s", GROWING[i].name, vbs_detail(&t.ctx));
        check_case(&t, GROWING[i].name, VBS_IO_EXTERNAL, VBS_WEIGHTS_EXCLUDED);
        check_case(&t, GROWING[i].name, VBS_IO_RESIDENT, VBS_WEIGHTS_EXCLUDED);
        vbs_network_free(t.network);
    }
    return done_testing();
}
