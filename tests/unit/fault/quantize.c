/* Every allocation of quantising, writing and comparing fails once, and then also every one after
 * it: the call says that memory is out, leaves its outputs as they were and nothing behind
 * (AddressSanitizer looks). */
#include "vbslab/quantize.h"

#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include <stdlib.h>
#include <unistd.h>

static const char TEXT[] = "model faults\n"
                           "input 2x4x4\n"
                           "conv a out=4 kernel=3 pad=1\n"
                           "batchnorm ab\n"
                           "relu ar\n"
                           "conv b out=4 kernel=1\n"
                           "relu br\n"
                           "batchnorm bb\n"
                           "add s from=ar,bb\n"
                           "fc f out=3\n";

static char path[] = "/tmp/t_quantize_fault.XXXXXX.onnx";

/* What the tasks work on. */
struct quantize_place {
    struct vbs_network *network;
    struct vbs_quantized_network *quantized;
};

static enum vbs_status give(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs)
{
    (void)ctx, (void)self;
    for (int i = 0; i < n * 32; i++)
        inputs[i] = (float)(((int)first * 32 + i) % 13 - 6);
    return VBS_OK;
}

static const struct vbs_quantize_samples SAMPLES = {NULL, 2, give};

static enum vbs_status quantise(struct vbs_ctx *ctx, const void *subject)
{
    const struct quantize_place *place = subject;
    const char *keep[] = {"s"};
    const struct vbs_quantize_options options = {.struct_size = sizeof options,
                                                 .method = VBS_QUANTIZE_ENTROPY,
                                                 .keep = keep,
                                                 .n_keep = 1,
                                                 .threads = 1};
    struct vbs_quantized_network *q = (void *)&fault_untouched;
    enum vbs_status status = vbs_quantize(ctx, place->network, &SAMPLES, &options, &q);

    if (status != VBS_OK)
        return fault_status(status, q);
    vbs_quantized_free(q);
    return VBS_OK;
}

static enum vbs_status write_file(struct vbs_ctx *ctx, const void *subject)
{
    const struct quantize_place *place = subject;
    enum vbs_status status;

    unlink(path);
    status = vbs_quantized_write(ctx, place->quantized, path);
    return status != VBS_OK && access(path, F_OK) == 0 ? VBS_N_STATUS : status;
}

static enum vbs_status compare(struct vbs_ctx *ctx, const void *subject)
{
    const struct quantize_place *place = subject;
    const struct vbs_quantize_options options = {.struct_size = sizeof options, .threads = 1};
    struct vbs_quantize_difference d = {.n = -1};
    enum vbs_status status =
        vbs_quantize_compare(ctx, place->network, place->network, &SAMPLES, &options, &d);

    return status != VBS_OK && d.n != -1 ? VBS_N_STATUS : status;
}

/* The values of what is loaded are in a file without a name, which fails like the others. */
static enum vbs_status load(struct vbs_ctx *ctx, const void *subject)
{
    const struct quantize_place *place = subject;
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_quantized_load(ctx, place->quantized, &network);

    if (status != VBS_OK && network)
        return VBS_N_STATUS;
    vbs_network_free(network);
    return status;
}

static void test(const char *name, enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject),
                 const struct quantize_place *place, int fewest)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = run, .subject = place, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults >= fewest && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%s: %d allocations, %s", name, trial.n_faults, trial.way);
    }
}

int main(void)
{
    struct quantize_place place = {NULL, NULL};
    struct vbs_ctx ctx = {0};
    int file = mkstemps(path, 5);

    if (vbs_network_parse(&ctx, "test", TEXT, sizeof TEXT - 1, NULL, &place.network) != VBS_OK ||
        vbs_quantize(&ctx, place.network, &SAMPLES, NULL, &place.quantized) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    test("quantising", quantise, &place, 40);
    test("writing", write_file, &place, 10);
    test("loading", load, &place, 30);
    test("comparing", compare, &place, 10);
    vbs_quantized_free(place.quantized);
    vbs_network_free(place.network);
    close(file);
    unlink(path);
    return done_testing();
}
