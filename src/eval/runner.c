#include "eval/runner.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* ---- choosing kernels ---- */

/* Gives how much a kernel is worth choosing; the higher the better. Reference code is slow, a
 * Winograd transform rounds more than the definition, coded weights are for small memory. */
static int rank_of(const struct vbs_kernel *kernel)
{
    if (strstr(kernel->algorithm, "ref"))
        return 0;
    if (kernel->row_slices > 1)
        return 1;
    if (vbs_algorithm_is_coded(kernel->algorithm))
        return 2;
    return strstr(kernel->algorithm, "wino") ? 3 : 4;
}

/* Chooses a kernel of each layer at the batch from a session that has all, into [n_layers]. */
static enum vbs_status choose(struct vbs_ctx *ctx, const struct vbs_session *all, int batch,
                              struct vbs_requested_kernel *chosen)
{
    int *rank = malloc(((size_t)all->n_layers + 1) * sizeof *rank);
    enum vbs_status status = VBS_OK;

    if (!rank)
        return vbs_no_memory(ctx);
    for (int k = 0; k <= all->n_layers; k++)
        rank[k] = -1;
    for (int i = 0; i < all->n_kernels; i++) {
        const struct vbs_kernel *kernel = &all->kernels[i];

        if (kernel->batch != batch || rank_of(kernel) <= rank[kernel->layer])
            continue;
        rank[kernel->layer] = rank_of(kernel);
        chosen[kernel->layer - 1] = (struct vbs_requested_kernel){
            .layer = kernel->layer, .batch = batch, .algorithm = kernel->algorithm};
    }
    for (int k = 1; k <= all->n_layers && status == VBS_OK; k++)
        if (rank[k] < 0)
            status =
                vbs_fail(ctx, VBS_UNSUPPORTED, "layer '%s' has no kernel for %d images at once",
                         all->layers[k].name, batch);
    free(rank);
    return status;
}

/* Opens the session of the chosen kernels. */
static enum vbs_status open_chosen(struct vbs_ctx *ctx, struct vbs_runner *r,
                                   const struct vbs_backend *backend, int threads,
                                   const struct vbs_session *all)
{
    struct vbs_backend_options options = {.struct_size = sizeof options, .threads = threads};
    struct vbs_requested_kernel *chosen = calloc((size_t)all->n_layers, sizeof *chosen);
    enum vbs_status status = chosen ? choose(ctx, all, r->batch, chosen) : vbs_no_memory(ctx);

    options.requested = chosen;
    options.n_requested = all->n_layers;
    if (status == VBS_OK)
        status = backend->open(ctx, r->network, &options, &r->session);
    free(chosen);
    return status;
}

/* Opens a session without weights that says which kernels there are, and then one of those that are
 * chosen. */
static enum vbs_status open_session(struct vbs_ctx *ctx, struct vbs_runner *r,
                                    const struct vbs_backend *backend, int threads)
{
    const int batches[] = {1, r->batch};
    struct vbs_backend_options options = {.struct_size = sizeof options,
                                          .batches = batches,
                                          .n_batches = r->batch > 1 ? 2 : 1,
                                          .threads = threads,
                                          .weights_given = true};
    struct vbs_session *all;
    enum vbs_status status;

    VBS_TRY(backend->open(ctx, r->network, &options, &all));
    status = open_chosen(ctx, r, backend, threads, all);
    all->ops->close(all);
    return status;
}

/* ---- memory ---- */

static enum vbs_status allocate(struct vbs_ctx *ctx, struct vbs_runner *r, int64_t bytes,
                                void **memory)
{
    *memory = r->session->ops->alloc(r->session, bytes);
    if (!*memory)
        return vbs_no_memory(ctx);
    r->held_bytes += bytes;
    return VBS_OK;
}

static enum vbs_status allocate_tensors(struct vbs_ctx *ctx, struct vbs_runner *r)
{
    const struct vbs_session *session = r->session;
    int64_t ws_bytes = 0, bytes;
    int most_inputs = 1;

    r->tensors = calloc((size_t)session->n_layers + 1, sizeof *r->tensors);
    r->owned = calloc((size_t)session->n_layers + 1, sizeof *r->owned);
    if (!r->tensors || !r->owned)
        return vbs_no_memory(ctx);
    for (int k = 0; k <= session->n_layers; k++) {
        const struct vbs_profile_layer *layer = &session->layers[k];

        if (layer->n_inputs > most_inputs)
            most_inputs = layer->n_inputs;
        if (k > 0 && session->kernels[k - 1].ws_bytes > ws_bytes)
            ws_bytes = session->kernels[k - 1].ws_bytes;
        if (k > 0 && layer->in_place && layer->n_inputs > 0) {
            r->tensors[k] = r->tensors[layer->inputs[0]];
            continue;
        }
        if (!vbs_mul(layer->out_bytes, r->batch, &bytes))
            return vbs_no_memory(ctx);
        r->owned[k] = true;
        VBS_TRY(allocate(ctx, r, bytes, &r->tensors[k]));
    }
    r->inputs = calloc((size_t)most_inputs, sizeof *r->inputs);
    if (!r->inputs)
        return vbs_no_memory(ctx);
    return ws_bytes > 0 ? allocate(ctx, r, ws_bytes, &r->scratch) : VBS_OK;
}

enum vbs_status vbs_runner_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_backend *backend, int batch, int threads,
                                struct vbs_runner *runner)
{
    *runner = (struct vbs_runner){.network = network, .batch = batch};
    VBS_TRY(open_session(ctx, runner, backend, threads));
    return allocate_tensors(ctx, runner);
}

void vbs_runner_clear(struct vbs_runner *runner)
{
    struct vbs_session *session = runner->session;

    for (int k = 0; session && runner->tensors && runner->owned && k <= session->n_layers; k++)
        if (runner->owned[k])
            session->ops->free(session, runner->tensors[k]);
    if (session && runner->scratch)
        session->ops->free(session, runner->scratch);
    if (session)
        session->ops->close(session);
    free(runner->tensors);
    free(runner->owned);
    free(runner->inputs);
    *runner = (struct vbs_runner){.batch = 0};
}

/* ---- running ---- */

enum vbs_status vbs_runner_layer(struct vbs_ctx *ctx, struct vbs_runner *r, int k)
{
    const struct vbs_profile_layer *layer = &r->session->layers[k];
    struct vbs_operands operands = {.src = r->inputs, .dst = r->tensors[k]};
    double time_us;

    VBS_TRY(vbs_check_cancel(ctx));
    for (int i = 0; i < layer->n_inputs; i++)
        r->inputs[i] = r->tensors[layer->inputs[i]];
    operands.ws = r->session->kernels[k - 1].ws_bytes > 0 ? r->scratch : NULL;
    VBS_TRY(r->session->ops->run(ctx, r->session, k - 1, &operands, &time_us));
    r->compute_s += time_us * 1e-6;
    return VBS_OK;
}

enum vbs_status vbs_runner_put(struct vbs_ctx *ctx, struct vbs_runner *runner, const float *inputs)
{
    struct vbs_session *session = runner->session;

    return session->ops->write(ctx, session, 0, runner->batch, inputs, runner->tensors[0]);
}

enum vbs_status vbs_runner_read(struct vbs_ctx *ctx, struct vbs_runner *runner, int k, int n,
                                float *values)
{
    struct vbs_session *session = runner->session;

    return session->ops->read(ctx, session, k, n, runner->tensors[k], values);
}

enum vbs_status vbs_runner_run(struct vbs_ctx *ctx, struct vbs_runner *runner, int n,
                               const float *inputs, float *outputs)
{
    VBS_TRY(vbs_runner_put(ctx, runner, inputs));
    for (int k = 1; k <= runner->session->n_layers; k++)
        VBS_TRY(vbs_runner_layer(ctx, runner, k));
    return vbs_runner_read(ctx, runner, runner->network->outputs[0].layer, n, outputs);
}
