/*
 * Every allocation of networks, sessions of backends and measuring fails once, and then also every
 * one from it on: the call says that memory is out, leaves its output as it was and nothing behind
 * (AddressSanitizer looks), and the same call then succeeds.
 */
#include "support/fault.h"
#include "support/tap.h"
#include "support/vbz_help.h"

#include "vbslab/backend.h"

#include "model/onnx/onnx.h"
#include "vbslab/units.h"

#include <stdlib.h>
#include <unistd.h>

static const char TEXT[] = "model tiny\n"
                           "about every kind of layer\n"
                           "input 4x9x9\n"
                           "conv c1 out=8 kernel=3 pad=1\n"
                           "batchnorm b1\n"
                           "scale s1\n"
                           "relu r1\n"
                           "lrn n1 size=5 alpha=1e-4 beta=0.75\n"
                           "conv c2 out=8 kernel=1 bias=no\n"
                           "conv c3 out=8 kernel=3 pad=1 groups=2 from=n1\n"
                           "concat k1 from=c2,c3\n"
                           "conv c4 out=16 kernel=1\n"
                           "add a1 from=k1,c4\n"
                           "maxpool p1 kernel=3 stride=2\n"
                           "avgpool p2 kernel=global\n"
                           "fc f1 out=5\n"
                           "softmax m1\n";

struct task {
    const char *name;
    /* Runs the task. VBS_N_STATUS: a promise was broken. */
    enum vbs_status (*run)(struct vbs_ctx *ctx);
    enum vbs_status expected; /* when nothing fails */
};

static enum vbs_status load(struct vbs_ctx *ctx, const char *model, const struct vbs_shape *input)
{
    struct vbs_network *network = (void *)&fault_untouched;
    enum vbs_status status = vbs_network_load(ctx, model, input, &network);

    if (status != VBS_OK)
        return fault_status(status, network);
    vbs_network_free(network);
    return VBS_OK;
}

static enum vbs_status load_built_in(struct vbs_ctx *ctx)
{
    return load(ctx, "googlenet", NULL);
}

static enum vbs_status load_reshaped(struct vbs_ctx *ctx)
{
    return load(ctx, "c3d", &(struct vbs_shape){.n_dims = 4, .dim = {3, 32, 240, 320}});
}

static enum vbs_status parse(struct vbs_ctx *ctx)
{
    struct vbs_network *network = (void *)&fault_untouched;
    enum vbs_status status = vbs_network_parse(ctx, "tiny.net", TEXT, strlen(TEXT), NULL, &network);

    if (status != VBS_OK)
        return fault_status(status, network);
    vbs_network_free(network);
    return VBS_OK;
}

static enum vbs_status parse_wrong(struct vbs_ctx *ctx)
{
    static const char WRONG[] = "model x\ninput 1x2x2\nconv c out=1 kernel=1\nadd a from=c,d\n";
    struct vbs_network *network = (void *)&fault_untouched;

    return fault_status(vbs_network_parse(ctx, "wrong.net", WRONG, strlen(WRONG), NULL, &network),
                        network);
}

/* ---- ONNX files ---- */

static enum vbs_status load_onnx(struct vbs_ctx *ctx)
{
    enum vbs_status status = load(ctx, "tests/data/onnx/segment.onnx", NULL);

    return status == VBS_OK ? load(ctx, "tests/data/onnx/normals.onnx", NULL) : status;
}

static enum vbs_status load_onnx_twice_tried(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/whole.onnx", NULL);
}

static enum vbs_status load_onnx_folded(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/folded.onnx", NULL);
}

static enum vbs_status load_onnx_recurrent(struct vbs_ctx *ctx)
{
    enum vbs_status status = load(ctx, "tests/data/onnx/recurrent.onnx", NULL);

    return status == VBS_OK ? load(ctx, "tests/data/onnx/sequence.onnx", NULL) : status;
}

static enum vbs_status load_onnx_quantised(struct vbs_ctx *ctx)
{
    enum vbs_status status = load(ctx, "tests/data/onnx/quantised.onnx", NULL);

    return status == VBS_OK ? load(ctx, "tests/data/onnx/integers.onnx", NULL) : status;
}

static enum vbs_status load_onnx_contrib(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/contrib.onnx", NULL);
}

static enum vbs_status load_onnx_contrib_weights(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/contrib_weights.onnx", NULL);
}

static enum vbs_status load_onnx_blocks(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/blocks.onnx", NULL);
}

static enum vbs_status load_onnx_control(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/control.onnx", NULL);
}

static enum vbs_status load_onnx_sampled(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/sampled_20.onnx", NULL);
}

static enum vbs_status load_onnx_chosen(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/chosen.onnx", NULL);
}

static enum vbs_status load_onnx_detector(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/detector.onnx", NULL);
}

static enum vbs_status load_onnx_until(struct vbs_ctx *ctx)
{
    const struct vbs_input_choice choice = {.name = "root,boxes", .until = true};
    struct vbs_network *network;
    enum vbs_status status =
        vbs_network_load_inputs(ctx, "tests/data/onnx/detector.onnx", &choice, 1, &network);

    if (status == VBS_OK)
        vbs_network_free(network);
    return status;
}

static enum vbs_status load_onnx_sparse(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/sparse.onnx", NULL);
}

static enum vbs_status load_onnx_functions(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/functions.onnx", NULL);
}

static enum vbs_status load_onnx_deformed(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/deformed_19.onnx", NULL);
}

static enum vbs_status load_onnx_framed(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/framed.onnx", NULL);
}

static enum vbs_status load_onnx_noise(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/noise.onnx", NULL);
}

static enum vbs_status load_onnx_computed(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/computed_four.onnx", NULL);
}

static enum vbs_status load_onnx_reshaped(struct vbs_ctx *ctx)
{
    return load(ctx, "tests/data/onnx/light_zfnet512.onnx",
                &(struct vbs_shape){.n_dims = 3, .dim = {3, 100, 100}});
}

/* Reads all weights of a network whose matrices are stored transposed, in a file of their own. */
static enum vbs_status read_external(struct vbs_ctx *ctx)
{
    struct vbs_network *network = (void *)&fault_untouched;
    enum vbs_status status = vbs_network_load(ctx, "tests/data/onnx/external.onnx", NULL, &network);
    float values[16 * 256];

    if (status != VBS_OK)
        return fault_status(status, network);
    for (int k = 1; k <= network->n_layers && status == VBS_OK; k++)
        status = vbs_parameter_values(ctx, network, k, -1, VBS_PARAMETER_WEIGHTS, 0,
                                      vbs_weight_count(network, k), values);
    vbs_network_free(network);
    return status;
}

/* Writes a network with coded weights, from files, and loads it again. */
static enum vbs_status write_coded(struct vbs_ctx *ctx)
{
    static const struct vbz_recipe RECIPE = {
        .density = 0.5, .bits = 2, .options = {VBS_CODING_JOINT, 4, 16, 64}, .any_form = true};
    char path[] = "/tmp/t_fault.XXXXXX.vbz";
    int file = mkstemps(path, 4);
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_network_load(ctx, "tests/data/onnx/external.onnx", NULL, &network);

    if (status == VBS_OK)
        status = vbz_write(ctx, network, &RECIPE, path);
    vbs_network_free(network);
    if (status == VBS_OK)
        status = load(ctx, path, NULL);
    close(file);
    unlink(path);
    return status;
}

/* Copies a network with values from files, and with other ones. */
static enum vbs_status revalue(struct vbs_ctx *ctx)
{
    static const float BIAS[16] = {1, 2, 3};
    struct vbs_network *network = NULL, *copy = (void *)&fault_untouched;
    struct vbs_new_values values = {
        .layer = 1, .fused = -1, .what = VBS_PARAMETER_BIAS, .values = BIAS};
    enum vbs_status status = vbs_network_load(ctx, "tests/data/onnx/external.onnx", NULL, &network);

    if (status != VBS_OK)
        return status;
    values.count = vbs_parameter_count(network, 1, -1, VBS_PARAMETER_BIAS);
    status = vbs_network_revalue(ctx, network, &values, 1, &copy);
    vbs_network_free(network);
    if (status != VBS_OK)
        return fault_status(status, copy);
    vbs_network_free(copy);
    return VBS_OK;
}

/* Writes a network as an ONNX file. */
static enum vbs_status export(struct vbs_ctx *ctx) {
    char path[] = "/tmp/t_fault.XXXXXX.onnx"; int file = mkstemps(path, 5);
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_network_load(ctx, "tests/data/onnx/segment.onnx", NULL, &network);

    if (status == VBS_OK) status = vbs_network_export(ctx, network, path);
    vbs_network_free(network);
    close(file);
    unlink(path);
    return status;
}

static enum vbs_status read_tensor(struct vbs_ctx *ctx)
{
    struct vbs_onnx_tensor_file tensor = {.values = (void *)&fault_untouched};
    enum vbs_status status = vbs_onnx_read_tensor(ctx, "tests/data/onnx/segment_in.pb", &tensor);

    if (status != VBS_OK)
        return fault_status(status, tensor.values);
    free(tensor.values);
    return VBS_OK;
}

static enum vbs_status parse_batches(struct vbs_ctx *ctx)
{
    int *batches = (void *)&fault_untouched, n;
    enum vbs_status status = vbs_parse_batches(ctx, "1-4,8", &batches, &n);

    if (status != VBS_OK)
        return fault_status(status, batches);
    free(batches);
    return n == 5 ? VBS_OK : VBS_N_STATUS;
}

/* ---- Sessions ---- */

static enum vbs_status nothing_stored(struct vbs_ctx *ctx, void *self, int kernel,
                                      const double **times_us, int *n_times)
{
    (void)ctx, (void)self, (void)kernel, (void)times_us;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status drop(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us)
{
    (void)ctx, (void)self, (void)kernel, (void)round, (void)time_us;
    return VBS_OK;
}

static enum vbs_status measure(struct vbs_ctx *ctx, const char *name)
{
    static const int BATCHES[] = {1, 2};
    const struct vbs_backend_options prepare = {.struct_size = sizeof(struct vbs_backend_options),
                                                .batches = BATCHES,
                                                .n_batches = 2,
                                                .threads = 1};
    const struct vbs_measure_options options = {
        .struct_size = sizeof(struct vbs_measure_options), .time_limit_s = 1e-3, .min_runs = 2};
    const struct vbs_sample_sink sink = {.stored = nothing_stored, .add = drop};
    struct vbs_session *session = (void *)&fault_untouched;
    struct vbs_network *network = NULL;
    struct vbs_measure_report report;
    const struct vbs_backend *backend;
    enum vbs_status status = vbs_backend_find(ctx, name, &backend);

    if (status == VBS_OK)
        status = vbs_network_parse(ctx, "tiny.net", TEXT, strlen(TEXT), NULL, &network);
    if (status == VBS_OK)
        status = backend->open(ctx, network, &prepare, &session);
    if (status == VBS_OK) {
        status = vbs_measure(ctx, session, &options, &sink, &report);
        session->ops->close(session);
    } else {
        status = fault_status(status, session);
    }
    vbs_network_free(network);
    return status;
}

static enum vbs_status measure_analytic(struct vbs_ctx *ctx)
{
    return measure(ctx, "analytic");
}

static enum vbs_status measure_onednn(struct vbs_ctx *ctx)
{
    return measure(ctx, "onednn");
}

static const struct task TASKS[] = {
    {"a built-in network", load_built_in, VBS_OK},
    {"a network of another input shape", load_reshaped, VBS_OK},
    {"a model text", parse, VBS_OK},
    {"a model text that is wrong", parse_wrong, VBS_FORMAT},
    {"ONNX files", load_onnx, VBS_OK},
    {"an ONNX file that is tried in two ways", load_onnx_twice_tried, VBS_OK},
    {"an ONNX file whose constants are computed", load_onnx_folded, VBS_OK},
    {"an ONNX file with recurrent operators", load_onnx_recurrent, VBS_OK},
    {"a quantised ONNX file", load_onnx_quantised, VBS_OK},
    {"one with operators of ONNX Runtime", load_onnx_contrib, VBS_OK},
    {"one with quantised weights", load_onnx_contrib_weights, VBS_OK},
    {"one with weights in blocks", load_onnx_blocks, VBS_OK},
    {"an ONNX file with graphs inside nodes", load_onnx_control, VBS_OK},
    {"an ONNX file with points in images", load_onnx_sampled, VBS_OK},
    {"an ONNX file with parts at computed places", load_onnx_chosen, VBS_OK},
    {"an ONNX file of which a part cannot be read", load_onnx_detector, VBS_UNSUPPORTED},
    {"this file until there", load_onnx_until, VBS_OK},
    {"one with convolutions at moved places", load_onnx_deformed, VBS_OK},
    {"one with convolutions by computed weights", load_onnx_computed, VBS_OK},
    {"one with Fourier transforms", load_onnx_framed, VBS_OK},
    {"one with random numbers", load_onnx_noise, VBS_OK},
    {"an ONNX file with sparse weights", load_onnx_sparse, VBS_OK},
    {"an ONNX file with functions", load_onnx_functions, VBS_OK},
    {"an ONNX file with an input that does not suit it", load_onnx_reshaped, VBS_USAGE},
    {"weights from a file", read_external, VBS_OK},
    {"coded weights in a file", write_coded, VBS_OK},
    {"a copy of a network with other parameters", revalue, VBS_OK},
    {"a network as an ONNX file", export, VBS_OK},
    {"a tensor file", read_tensor, VBS_OK},
    {"a list of batches", parse_batches, VBS_OK},
    {"measuring with analytic", measure_analytic, VBS_OK},
    {"measuring with onednn", measure_onednn, VBS_OK},
};

static enum vbs_status run(struct vbs_ctx *ctx, const void *task)
{
    return ((const struct task *)task)->run(ctx);
}

/* Gives whether the status is allowed, and, after some of the faults, whether the task then runs as
 * if nothing had failed. */
static bool is_sound(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *subject)
{
    const struct task *task = subject;
    struct vbs_ctx again = {0};

    return (fault_is_said(ctx, status) || status == task->expected) &&
           (n % 8 || task->run(&again) == task->expected);
}

static void try_task(const struct task *task, bool lasting)
{
    struct fault_trial trial = {
        .run = run, .subject = task, .lasting = lasting, .is_sound = is_sound};

    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == task->expected,
       "%s: %d allocations, %s", task->name, trial.n_faults, trial.way);
}

int main(void)
{
    for (size_t i = 0; i < sizeof TASKS / sizeof TASKS[0]; i++) {
        try_task(&TASKS[i], false);
        try_task(&TASKS[i], true);
    }
    return done_testing();
}
