/* How much the loss depends on filters: |gradient x value|, from passes of a training session. */
#include "prune/taylor.h"

#include "base/fail.h"
#include "prune/filters.h"
#include "vbslab/eval.h"
#include "vbslab/training.h"

#include <math.h>
#include <stdlib.h>

#define BATCH    64  /* images of a pass */
#define N_IMAGES 512 /* where the options do not say */

/* The passes. */
struct passes {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_prune_whole *whole;
    const struct vbs_prune_options *options;
    struct vbs_training *session;
    int n_images, batch;
    int *order; /* [images of the data set] */
    float *input, *output, *gradient;
    float *values, *slopes; /* of one trainable array */
    double *scores;
};

/* Makes the gradient of the cross entropy of softmax(scores) with a label. */
static void slope_of_loss(const float *scores, int64_t n, int label, float *gradient)
{
    double most = (double)scores[0], total = 0;

    for (int64_t c = 1; c < n; c++)
        most = fmax(most, (double)scores[c]);
    for (int64_t c = 0; c < n; c++)
        total += exp((double)scores[c] - most);
    for (int64_t c = 0; c < n; c++)
        gradient[c] = (float)(exp((double)scores[c] - most) / total - (c == label));
}

static enum vbs_status open_session(struct passes *p)
{
    const struct vbs_training_options training = {.struct_size = sizeof training,
                                                  .batch = p->batch,
                                                  .threads = p->options->threads,
                                                  .dropout_rate = -1};
    int64_t most = 0;
    size_t batch = (size_t)p->batch;

    VBS_TRY(vbs_training_open(p->ctx, "onednn", p->network, &training, &p->session));
    for (int i = 0; i < p->session->n_trainable; i++)
        if (p->session->trainable[i].count > most)
            most = p->session->trainable[i].count;
    p->input = malloc(batch * (size_t)p->session->input_elements * sizeof *p->input);
    p->output = malloc(batch * (size_t)p->session->output_elements * sizeof *p->output);
    p->gradient = malloc(batch * (size_t)p->session->output_elements * sizeof *p->gradient);
    p->values = malloc((size_t)most * sizeof *p->values + 1);
    p->slopes = malloc((size_t)most * sizeof *p->slopes + 1);
    if (!p->input || !p->output || !p->gradient || !p->values || !p->slopes)
        return vbs_no_memory(p->ctx);
    return VBS_OK;
}

/* Computes the gradients of one batch, whose first image is number `first` of the order. */
static enum vbs_status pass(struct passes *p, int first)
{
    struct vbs_training *session = p->session;
    const struct vbs_training_pass forward = {
        .input = p->input, .training = true, .seed = p->options->seed};
    int64_t n = session->output_elements;

    vbs_dataset_images(p->options->images, p->order + first, p->batch, p->options->normalise, NULL,
                       p->input);
    VBS_TRY(session->ops->forward(p->ctx, session, &forward, p->output));
    for (int i = 0; i < p->batch; i++)
        slope_of_loss(p->output + i * n, n,
                      vbs_dataset_label(p->options->images, p->order[first + i]),
                      p->gradient + i * n);
    return session->ops->backward(p->ctx, session, p->gradient);
}

/* Adds what one array of parameters gives. */
static enum vbs_status add_array(struct passes *p, int index)
{
    struct vbs_training *session = p->session;
    const struct vbs_trainable *t = &session->trainable[index];
    const struct vbs_prune_tensor *tensor = &p->whole->tensors[t->layer];
    struct vbs_filter_order order;

    if (t->fused >= 0 || !vbs_prune_has_filters(p->network, t->layer))
        return VBS_OK;
    order = vbs_filter_order(p->network, t->layer, t->what);
    VBS_TRY(session->ops->read(p->ctx, session, index, false, p->values));
    VBS_TRY(session->ops->read(p->ctx, session, index, true, p->slopes));
    for (int64_t i = 0; i < t->count; i++) {
        double product = fabs((double)p->values[i] * (double)p->slopes[i]);

        if (!isfinite(product))
            return vbs_fail(p->ctx, VBS_LIBRARY, "'%.100s': the gradient of %s is not finite",
                            t->name, vbs_parameter_word(t->what));
        p->scores[tensor->channels[vbs_filter_of(&order, i)]] += product;
    }
    return VBS_OK;
}

static enum vbs_status run(struct passes *p)
{
    int n = vbs_dataset_info(p->options->images)->n_images;

    p->order = malloc((size_t)n * sizeof *p->order);
    if (!p->order)
        return vbs_no_memory(p->ctx);
    vbs_data_order(n, p->options->seed, 0, p->order);
    VBS_TRY(open_session(p));
    for (int first = 0; first + p->batch <= p->n_images; first += p->batch) {
        VBS_TRY(vbs_check_cancel(p->ctx));
        VBS_TRY(pass(p, first));
        for (int i = 0; i < p->session->n_trainable; i++)
            VBS_TRY(add_array(p, i));
    }
    return VBS_OK;
}

enum vbs_status vbs_prune_taylor(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_whole *whole,
                                 const struct vbs_prune_options *options, double *scores)
{
    struct passes p = {
        .ctx = ctx, .network = network, .whole = whole, .options = options, .scores = scores};
    int n = vbs_dataset_info(options->images)->n_images;
    enum vbs_status status;

    if (options->n_images < 0)
        return vbs_fail(ctx, VBS_USAGE, "the number of images is below 0");
    VBS_TRY(vbs_eval_check(ctx, network, options->images));
    p.n_images = options->n_images > 0 ? options->n_images : N_IMAGES;
    if (p.n_images > n)
        p.n_images = n;
    p.batch = p.n_images < BATCH ? p.n_images : BATCH;
    status = run(&p);
    if (p.session)
        p.session->ops->close(p.session);
    free(p.order);
    free(p.input);
    free(p.output);
    free(p.gradient);
    free(p.values);
    free(p.slopes);
    return status;
}
