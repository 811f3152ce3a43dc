/* The loop over steps and epochs. */
#include "train/run.h"

#include "base/clock.h"
#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_NAMED 6 /* operators in a warning */

/* ---- a step ---- */

static struct vbs_variation variation_of(const struct vbs_train_run *run, int64_t epoch)
{
    return (struct vbs_variation){.seed = run->options.seed,
                                  .epoch = epoch,
                                  .mirror = run->options.mirror,
                                  .max_shift = run->options.max_shift};
}

#define MAY_HELP "a lower rate than %g, a warm-up or another initialisation may help"

static void tell_diverged(const struct vbs_train_run *run)
{
    if (run->options.diverged)
        *run->options.diverged = true;
}

/* Fails because the loss of the pass is not finite; names the layer in which the values overflow.
 */
static enum vbs_status fail_diverged(struct vbs_ctx *ctx, struct vbs_train_run *run,
                                     const struct vbs_training_pass *pass)
{
    const char *name = NULL;
    int64_t step = run->at.step;

    tell_diverged(run);
    VBS_TRY(run->session->ops->find_overflow(ctx, run->session, pass, &name));
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "training diverged: in step %" PRId64 " of epoch %" PRId64
                    " the values of '%.60s' are not finite; " MAY_HELP,
                    step % run->epoch_steps + 1, step / run->epoch_steps + 1,
                    name ? name : "the loss", run->options.rate);
}

static bool is_finite(const float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

/* Checks that the last step has left finite parameters, so that neither a checkpoint nor the
 * trained network has others. */
static enum vbs_status check_parameters(struct vbs_ctx *ctx, const struct vbs_train_run *run)
{
    const struct vbs_training *s = run->session;
    int64_t last = run->at.step > 0 ? run->at.step - 1 : 0;
    const char *name = NULL;

    for (int i = 0; i < s->n_trainable && !name; i++)
        if (!is_finite(s->trainable[i].values, s->trainable[i].stored))
            name = s->trainable[i].name;
    for (int i = 0; i < s->n_statistics && !name; i++)
        if (!is_finite(s->statistics[i].values, s->statistics[i].count))
            name = s->statistics[i].name;
    if (!name)
        return VBS_OK;
    tell_diverged(run);
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "training diverged: behind step %" PRId64 " of epoch %" PRId64
                    " the parameters of '%.60s' are not finite; " MAY_HELP,
                    last % run->epoch_steps + 1, last / run->epoch_steps + 1, name,
                    run->options.rate);
}

/* Computes the losses of the batch and the gradient of their mean. */
static struct vbs_loss find_loss(struct vbs_train_run *run, const int *images)
{
    struct vbs_loss loss = {0, 0};

    for (int i = 0; i < run->options.batch; i++)
        vbs_loss_add(run->output + (int64_t)i * run->n_classes, run->n_classes,
                     vbs_dataset_label(run->images, images[i]), run->options.label_smoothing,
                     run->options.batch, &loss, run->gradient + (int64_t)i * run->n_classes);
    return loss;
}

static void update(struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;
    double rate = vbs_train_rate(&run->options, run->epoch_steps, run->at.step);

    for (int i = 0; i < s->n_trainable; i++) {
        struct vbs_trainable *p = &s->trainable[i];
        float *states[VBS_TRAIN_STATES] = {NULL};

        for (int k = 0; k < run->n_states; k++)
            states[k] = run->states[k * s->n_trainable + i];
        vbs_train_update(&run->options, rate, run->at.step,
                         p->what == VBS_PARAMETER_WEIGHTS || run->options.decay_all, p->stored,
                         p->gradient, states, p->values);
    }
}

static enum vbs_status take_step(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;
    int64_t epoch = run->at.step / run->epoch_steps, number = run->at.step % run->epoch_steps;
    const int *images = run->order + number * run->options.batch;
    const struct vbs_variation variation = variation_of(run, epoch);
    const struct vbs_training_pass pass = {.input = run->input,
                                           .training = true,
                                           .seed = run->options.seed,
                                           .step = (uint64_t)run->at.step};
    struct vbs_loss loss;

    vbs_dataset_images(run->images, images, run->options.batch, run->normalise, &variation,
                       run->input);
    VBS_TRY(s->ops->forward(ctx, s, &pass, run->output));
    loss = find_loss(run, images);
    if (!isfinite(loss.sum))
        return fail_diverged(ctx, run, &pass);
    VBS_TRY(s->ops->backward(ctx, s, run->gradient));
    update(run);
    run->at.step++;
    run->at.loss += loss.sum;
    run->at.n_right += loss.n_right;
    return VBS_OK;
}

/* ---- an epoch ---- */

/* Computes loss and accuracy on the validation images; a last batch that is not full is filled up
 * with images that do not count. */
static enum vbs_status validate(struct vbs_ctx *ctx, struct vbs_train_run *run,
                                struct vbs_train_epoch *epoch)
{
    const struct vbs_training_pass pass = {.input = run->input};
    int n = vbs_dataset_info(run->validation)->n_images, batch = run->options.batch;
    int *images = malloc((size_t)batch * sizeof *images);
    enum vbs_status status = images ? VBS_OK : vbs_no_memory(ctx);
    struct vbs_loss loss = {0, 0};

    for (int first = 0; first < n && status == VBS_OK; first += batch) {
        int left = n - first < batch ? n - first : batch;

        for (int i = 0; i < batch; i++)
            images[i] = first + (i < left ? i : 0);
        vbs_dataset_images(run->validation, images, batch, run->normalise, NULL, run->input);
        status = run->session->ops->forward(ctx, run->session, &pass, run->output);
        for (int i = 0; i < left && status == VBS_OK; i++)
            vbs_loss_add(run->output + (int64_t)i * run->n_classes, run->n_classes,
                         vbs_dataset_label(run->validation, images[i]), 0, 1, &loss, NULL);
        if (status == VBS_OK)
            status = vbs_check_cancel(ctx);
    }
    free(images);
    epoch->validated = status == VBS_OK;
    epoch->validation_loss = loss.sum / n;
    epoch->validation_accuracy = (double)loss.n_right / n;
    return status;
}

static struct vbs_train_epoch describe(const struct vbs_train_run *run, double begin_s)
{
    int64_t done = run->at.step % run->epoch_steps, last = run->at.step > 0 ? run->at.step - 1 : 0;
    double images = (double)(done * run->options.batch);

    return (struct vbs_train_epoch){.epoch = (int)(last / run->epoch_steps) + 1,
                                    .n_steps = done > 0 ? done : run->epoch_steps,
                                    .rate = vbs_train_rate(&run->options, run->epoch_steps, last),
                                    .loss = done > 0 ? run->at.loss / images : run->at.last_loss,
                                    .accuracy = done > 0 ? (double)run->at.n_right / images
                                                         : run->at.last_accuracy,
                                    .elapsed_s = vbs_clock_s() - begin_s};
}

/* Writes the checkpoint, if there is one, of finite parameters. */
static enum vbs_status save(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    VBS_TRY(check_parameters(ctx, run));
    if (!run->options.checkpoint)
        return VBS_OK;
    VBS_TRY(vbs_checkpoint_write(ctx, run));
    run->saved_s = vbs_clock_s();
    return VBS_OK;
}

/* Takes the steps that are left of an epoch. */
static enum vbs_status take_steps(struct vbs_ctx *ctx, struct vbs_train_run *run, double begin_s)
{
    double total = (double)run->epoch_steps * run->options.epochs;
    int64_t epoch = run->at.step / run->epoch_steps;

    vbs_data_order(vbs_dataset_info(run->images)->n_images, run->options.seed, epoch, run->order);
    while (run->at.step < (epoch + 1) * run->epoch_steps) {
        if (vbs_cancelled(ctx)) {
            VBS_TRY(save(ctx, run));
            return vbs_check_cancel(ctx);
        }
        VBS_TRY(take_step(ctx, run));
        if (run->options.progress) {
            struct vbs_train_epoch so_far = describe(run, begin_s);

            run->options.progress(run->options.self, (double)run->at.step / total, &so_far);
        }
        if (vbs_clock_s() - run->saved_s > run->options.checkpoint_s &&
            run->at.step % run->epoch_steps != 0)
            VBS_TRY(save(ctx, run));
    }
    return VBS_OK;
}

static enum vbs_status run_epoch(struct vbs_ctx *ctx, struct vbs_train_run *run,
                                 struct vbs_train_epoch *epoch)
{
    double begin_s = vbs_clock_s();
    double images = (double)run->epoch_steps * run->options.batch;

    VBS_TRY(take_steps(ctx, run, begin_s));
    run->at.last_loss = run->at.loss / images;
    run->at.last_accuracy = (double)run->at.n_right / images;
    run->at.loss = 0;
    run->at.n_right = 0;
    VBS_TRY(save(ctx, run));
    *epoch = describe(run, begin_s);
    if (run->validation)
        VBS_TRY(validate(ctx, run, epoch));
    epoch->elapsed_s = vbs_clock_s() - begin_s;
    if (run->options.report)
        run->options.report(run->options.self, epoch);
    return VBS_OK;
}

/* ---- beginning and end ---- */

static enum vbs_status check_images(struct vbs_ctx *ctx, const struct vbs_train_run *run,
                                    const struct vbs_dataset *images)
{
    const struct vbs_data_info *info = vbs_dataset_info(images);
    const struct vbs_shape *in = &run->network->input;
    bool same = in->n_dims == 3 && in->dim[0] == info->channels && in->dim[1] == info->height &&
                in->dim[2] == info->width;
    bool flat =
        in->n_dims == 1 && in->dim[0] == (int64_t)info->channels * info->height * info->width;

    if (!same && !flat)
        return vbs_fail(ctx, VBS_USAGE,
                        "the images are %dx%dx%d, which is not the input of network '%s'; give it "
                        "another one, if it can take that (--input %dx%dx%d)",
                        info->channels, info->height, info->width, run->network->name,
                        info->channels, info->height, info->width);
    if (info->n_classes > run->n_classes)
        return vbs_fail(ctx, VBS_USAGE,
                        "the images have %d classes, but network '%s' has %d outputs",
                        info->n_classes, run->network->name, run->n_classes);
    if (run->options.max_shift >= info->height || run->options.max_shift >= info->width)
        return vbs_fail(
            ctx, VBS_USAGE,
            "a shift of %d pixels would leave nothing of images of %d rows and %d columns",
            run->options.max_shift, info->height, info->width);
    return VBS_OK;
}

static enum vbs_status alloc_run(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;
    size_t batch = (size_t)run->options.batch;
    int n_images = vbs_dataset_info(run->images)->n_images;

    run->n_states = vbs_train_states(&run->options);
    run->states = calloc((size_t)(run->n_states * s->n_trainable) + 1, sizeof *run->states);
    run->order = malloc((size_t)n_images * sizeof *run->order);
    run->input = malloc(batch * (size_t)s->input_elements * sizeof(float));
    run->output = malloc(batch * (size_t)s->output_elements * sizeof(float));
    run->gradient = malloc(batch * (size_t)s->output_elements * sizeof(float));
    if (!run->states || !run->order || !run->input || !run->output || !run->gradient)
        return vbs_no_memory(ctx);
    for (int i = 0; i < run->n_states * s->n_trainable; i++) {
        run->states[i] = calloc((size_t)s->trainable[i % s->n_trainable].stored, sizeof(float));
        if (!run->states[i])
            return vbs_no_memory(ctx);
    }
    return VBS_OK;
}

static void clear_run(struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;

    for (int i = 0; run->states && i < run->n_states * s->n_trainable; i++)
        free(run->states[i]);
    free(run->states);
    free(run->order);
    free(run->input);
    free(run->output);
    free(run->gradient);
    if (s)
        s->ops->close(s);
}

/* Names the operators that train slowly. */
static void warn_slow(const struct vbs_train_run *run)
{
    const struct vbs_training *s = run->session;
    char text[VBS_DETAIL_SIZE];
    size_t used;

    if (s->n_slow == 0 || !run->options.warn)
        return;
    used = (size_t)snprintf(text, sizeof text,
                            "oneDNN has no fast kernel to train %d operator%s, which may take most "
                            "of the time: ",
                            s->n_slow, s->n_slow == 1 ? "" : "s");
    for (int i = 0; i < s->n_slow && used < sizeof text; i++) {
        bool more = i == MOST_NAMED;

        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%.60s%s", i > 0 ? ", " : "",
                                 more ? "" : "'", more ? "..." : s->slow[i], more ? "" : "'");
        if (more)
            break;
    }
    run->options.warn(run->options.self, text);
}

static enum vbs_status begin_run(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    const struct vbs_training_options options = {.struct_size = sizeof options,
                                                 .batch = run->options.batch,
                                                 .threads = run->options.threads,
                                                 .dropout_rate = run->options.dropout_rate};

    VBS_TRY(vbs_training_open(ctx, "onednn", run->network, &options, &run->session));
    run->n_classes = (int)run->session->output_elements;
    VBS_TRY(check_images(ctx, run, run->images));
    if (run->validation)
        VBS_TRY(check_images(ctx, run, run->validation));
    VBS_TRY(alloc_run(ctx, run));
    VBS_TRY(vbs_train_initialise(ctx, run));
    warn_slow(run);
    run->saved_s = vbs_clock_s();
    if (!run->options.checkpoint)
        return VBS_OK;
    VBS_TRY(vbs_train_identify(ctx, run));
    return vbs_checkpoint_read(ctx, run);
}

/* Makes the trained network; values: an array for each parameter and statistic. */
static enum vbs_status make_network(struct vbs_ctx *ctx, struct vbs_train_run *run,
                                    struct vbs_new_values *values, float **plain,
                                    struct vbs_network **trained)
{
    struct vbs_training *s = run->session;
    char normalise[VBS_NORMALISE_SIZE];
    struct vbs_network *made = NULL;
    enum vbs_status status;

    for (int i = 0; i < s->n_trainable; i++) {
        const struct vbs_trainable *p = &s->trainable[i];

        plain[i] = malloc((size_t)p->count * sizeof **plain);
        if (!plain[i])
            return vbs_no_memory(ctx);
        VBS_TRY(s->ops->read(ctx, s, i, false, plain[i]));
        values[i] = (struct vbs_new_values){p->layer, p->fused, p->what, p->count, plain[i]};
    }
    for (int i = 0; i < s->n_statistics; i++) {
        const struct vbs_running_statistic *r = &s->statistics[i];

        values[s->n_trainable + i] =
            (struct vbs_new_values){r->layer, r->fused, r->what, r->count, r->values};
    }
    VBS_TRY(
        vbs_network_revalue(ctx, run->network, values, s->n_trainable + s->n_statistics, &made));
    status = run->normalise
                 ? vbs_network_set_normalise(
                       ctx, made, vbs_normalise_format(run->normalise, normalise, sizeof normalise))
                 : VBS_OK;
    if (status == VBS_OK)
        *trained = made;
    else
        vbs_network_free(made);
    return status;
}

static enum vbs_status end_run(struct vbs_ctx *ctx, struct vbs_train_run *run,
                               struct vbs_network **trained)
{
    size_t n = (size_t)(run->session->n_trainable + run->session->n_statistics);
    struct vbs_new_values *values = calloc(n, sizeof *values);
    float **plain = calloc(n, sizeof *plain);
    enum vbs_status status =
        values && plain ? make_network(ctx, run, values, plain, trained) : vbs_no_memory(ctx);

    for (size_t i = 0; plain && i < n; i++)
        free(plain[i]);
    free(plain);
    free(values);
    return status;
}

enum vbs_status vbs_train(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbs_dataset *images, const struct vbs_dataset *validation,
                          const struct vbs_normalise *normalise,
                          const struct vbs_train_options *options, struct vbs_network **trained,
                          struct vbs_train_epoch *last)
{
    struct vbs_train_run run = {
        .network = network, .images = images, .validation = validation, .normalise = normalise};
    int n_images = vbs_dataset_info(images)->n_images;
    struct vbs_train_epoch epoch = {0};
    struct vbs_network *made = NULL;
    enum vbs_status status;

    VBS_TRY(vbs_train_read_options(ctx, options, n_images, &run.options));
    run.epoch_steps = n_images / run.options.batch;
    status = begin_run(ctx, &run);
    if (status == VBS_OK && run.at.step == run.epoch_steps * run.options.epochs) {
        epoch = describe(&run, vbs_clock_s());
        status = validation ? validate(ctx, &run, &epoch) : VBS_OK;
    }
    while (status == VBS_OK && run.at.step < run.epoch_steps * run.options.epochs)
        status = run_epoch(ctx, &run, &epoch);
    if (status == VBS_OK)
        status = end_run(ctx, &run, &made);
    clear_run(&run);
    if (status != VBS_OK)
        return status;
    *trained = made;
    *last = epoch;
    return VBS_OK;
}
