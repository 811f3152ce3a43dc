/* A network that runs batches of inputs, layer after layer. Internal to the room. */
#ifndef VBS_EVAL_RUNNER_H
#define VBS_EVAL_RUNNER_H

#include "vbslab/backend.h"

/* A network prepared for batches of one size. Begin with {0}; clear it in any case. */
struct vbs_runner {
    const struct vbs_network *network; /* borrowed */
    struct vbs_session *session;       /* kernel k - 1 computes layer k */
    int batch;
    void **tensors;      /* [n_layers + 1]; layers in place have that of their first input */
    bool *owned;         /* [n_layers + 1] the tensor is not another one's */
    const void **inputs; /* [most inputs of a layer] */
    void *scratch;       /* workspace of any layer */
    int64_t held_bytes;  /* of tensors and workspace */
    double compute_s;    /* in layers, so far */
};

/* Prepares network for batches of `batch` inputs on backend. */
enum vbs_status vbs_runner_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_backend *backend, int batch, int threads,
                                struct vbs_runner *runner) VBS_MUST_CHECK;

/* Runs a batch: inputs [batch, ...] as plain floats, of which the first n count; outputs [n, ...]
 * of the network's first output. */
enum vbs_status vbs_runner_run(struct vbs_ctx *ctx, struct vbs_runner *runner, int n,
                               const float *inputs, float *outputs) VBS_MUST_CHECK;

/* The same in steps: the inputs are put into tensor 0, and layer k runs behind the layers before
 * it. vbs_runner_read gives n samples of what layer k has made, as long as no layer behind it has
 * overwritten it in place. */
enum vbs_status vbs_runner_put(struct vbs_ctx *ctx, struct vbs_runner *runner,
                               const float *inputs) VBS_MUST_CHECK;
enum vbs_status vbs_runner_layer(struct vbs_ctx *ctx, struct vbs_runner *runner,
                                 int k) VBS_MUST_CHECK;
enum vbs_status vbs_runner_read(struct vbs_ctx *ctx, struct vbs_runner *runner, int k, int n,
                                float *values) VBS_MUST_CHECK;

void vbs_runner_clear(struct vbs_runner *runner);

#endif
