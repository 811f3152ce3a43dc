/*
 * What is seen of a network that runs: the inputs that were given, values of all layers, whatever
 * the batch; and networks with factors folded into weights, or with values looked at inside layers,
 * have the same outputs.
 */
#include "vbslab/eval.h"

#include "model/network/network.h"
#include "support/tap.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>

#define SAMPLES 5

static const char TEXT[] = "model seen\n"
                           "input 4x6x6\n"
                           "conv a out=6 kernel=3 pad=1 groups=2\n"
                           "batchnorm ab\n"
                           "scale as\n"
                           "relu ar\n"
                           "maxpool p kernel=3 stride=1 pad=1\n"
                           "conv b out=6 kernel=1 from=ar bias=no\n"
                           "batchnorm bb\n"
                           "add s from=p,bb\n"
                           "relu sr\n"
                           "fc f out=5\n"
                           "dropout fd\n";

/* What was seen. */
struct seen {
    const struct vbs_network *network;
    float *values[32]; /* [n_layers + 1][SAMPLES, ...] */
    int n_calls;
    int fail_at; /* the call that fails; 0: none */
};

static enum vbs_status give(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs)
{
    const struct seen *seen = self;
    int64_t each = vbs_shape_elements(&seen->network->input);

    (void)ctx;
    for (int64_t i = 0; i < n * each; i++)
        inputs[i] = (float)sin(0.37 * (double)(first * each + i));
    return VBS_OK;
}

static enum vbs_status look(struct vbs_ctx *ctx, void *self, int layer, int64_t first, int n,
                            const float *values)
{
    struct seen *seen = self;
    int64_t each = vbs_shape_elements(&seen->network->layers[layer].shape);

    (void)ctx;
    if (++seen->n_calls == seen->fail_at)
        return VBS_FORMAT;
    memcpy(seen->values[layer] + first * each, values, (size_t)(n * each) * sizeof *values);
    return VBS_OK;
}

static struct seen new_seen(const struct vbs_network *network)
{
    struct seen seen = {.network = network};

    if (network->n_layers >= 32)
        bail_out("too many layers");
    for (int k = 0; k <= network->n_layers; k++) {
        int64_t each = vbs_shape_elements(&network->layers[k].shape);

        seen.values[k] = calloc((size_t)(SAMPLES * each), sizeof *seen.values[k]);
        if (!seen.values[k])
            bail_out("no memory");
    }
    return seen;
}

static void clear_seen(struct seen *seen)
{
    for (int k = 0; k <= seen->network->n_layers; k++)
        free(seen->values[k]);
}

static enum vbs_status run(struct vbs_ctx *ctx, struct seen *seen, int batch)
{
    static const bool WANTED[32] = {true, true, true, true, true, true, true, true, true, true};
    const struct vbs_observer observer = {seen, SAMPLES, give, WANTED, look};
    const struct vbs_eval_options options = {.struct_size = sizeof options, .batch = batch};

    return vbs_observe(ctx, seen->network, &observer, &options, NULL);
}

static void run_or_end(struct seen *seen, int batch)
{
    struct vbs_ctx ctx = {0};

    if (run(&ctx, seen, batch) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
}

/* Gives the largest difference of what layer k of one network and layer l of another have made. */
static double difference(const struct seen *a, int k, const struct seen *b, int l)
{
    int64_t n = SAMPLES * vbs_shape_elements(&a->network->layers[k].shape);
    double largest = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)a->values[k][i] - (double)b->values[l][i]));
    return largest;
}

static void check_values(struct seen *all)
{
    const struct vbs_network *network = all->network;
    int64_t n = SAMPLES * vbs_shape_elements(&network->layers[1].shape);
    float *given = calloc((size_t)(SAMPLES * vbs_shape_elements(&network->input)), sizeof *given);
    struct seen pieces = new_seen(network);
    struct vbs_ctx ctx = {0};
    int n_wrong = 0;

    run_or_end(all, SAMPLES);
    is_int(all->n_calls, network->n_layers + 1, "every layer and the input are seen once");
    if (!given || give(&ctx, all, 0, SAMPLES, given) != VBS_OK)
        bail_out("no memory");
    n_wrong = memcmp(given, all->values[0],
                     (size_t)(SAMPLES * vbs_shape_elements(&network->input)) * sizeof *given);
    is_int(n_wrong, 0, "what is seen of the input is what was given");
    for (int64_t i = 0; i < n; i++)
        n_wrong += all->values[1][i] < 0 || all->values[2][i] < all->values[1][i];
    is_int(n_wrong, 0, "layers are seen with what is fused, and each before others overwrite it");
    run_or_end(&pieces, 2);
    is_int(pieces.n_calls, 3 * (network->n_layers + 1), "five samples are three batches of two");
    for (int k = 0; k <= network->n_layers; k++)
        ok(difference(all, k, &pieces, k) < 1e-5, "... layer %d is the same in them", k);
    clear_seen(&pieces);
    free(given);
}

static void check_copies(const struct seen *all)
{
    const struct vbs_network *network = all->network;
    bool *wanted = calloc((size_t)vbs_network_operators(network), sizeof *wanted);
    struct vbs_network *folded = NULL, *tapped = NULL;
    struct vbs_ctx ctx = {0};
    struct seen of_folded, of_tapped;

    if (!wanted || vbs_network_fold(&ctx, network, &folded) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    of_folded = new_seen(folded);
    run_or_end(&of_folded, 0);
    for (int k = 1; k <= network->n_layers; k++)
        ok(difference(all, k, &of_folded, k) < 1e-4, "layer %d is the same with factors in weights",
           k);
    wanted[vbs_network_operator(network, 1, 1)] = true; /* the scale, in front of the relu */
    if (vbs_network_tap(&ctx, network, wanted, &tapped) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    of_tapped = new_seen(tapped);
    run_or_end(&of_tapped, 0);
    ok(difference(all, network->n_layers, &of_tapped, tapped->n_layers) < 1e-4,
       "the output is the same where values inside a layer are seen");
    ok(difference(all, 1, &of_tapped, 3) < 1e-4 && difference(all, 1, &of_tapped, 1) > 0.01,
       "... which are those in front of the relu");
    clear_seen(&of_folded);
    clear_seen(&of_tapped);
    vbs_network_free(folded);
    vbs_network_free(tapped);
    free(wanted);
}

static void check_failures(struct seen *all)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {0};

    all->fail_at = all->n_calls + 3;
    is_int(run(&ctx, all, 0), VBS_FORMAT, "a failure of who looks ends the run");
    is_int(run(&ctx, all, -1), VBS_USAGE, "a batch below 0 is refused");
    vbs_ctx_set_cancel(&ctx, &stop);
    is_int(run(&ctx, all, 0), VBS_INTERRUPTED, "the run stops on request");
}

int main(void)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    struct seen all;

    if (vbs_network_parse(&ctx, "seen.net", TEXT, sizeof TEXT - 1, NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    all = new_seen(network);
    check_values(&all);
    check_copies(&all);
    check_failures(&all);
    clear_seen(&all);
    vbs_network_free(network);
    return done_testing();
}
