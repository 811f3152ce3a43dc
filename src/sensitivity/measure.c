/* Points: a network without some channels of one group, evaluated, retrained, evaluated again. */
#include "vbslab/sensitivity.h"

#include "base/fail.h"
#include "base/options.h"
#include "base/sha256.h"
#include "model/network/network.h"
#include "vbslab/eval.h"
#include "vbslab/train.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vbs_sensitivity {
    const struct vbs_network *network;
    const struct vbs_dataset *images, *validation;
    const struct vbs_normalise *normalise;
    struct vbs_sensitivity_options options; /* with all defaults in place */
    struct vbs_prune_groups *groups;
    double *scores; /* [groups->n_channels] */
};

/* ---- opening ---- */

static enum vbs_status check(struct vbs_ctx *ctx, const struct vbs_sensitivity *s)
{
    const struct vbs_sensitivity_options *o = &s->options;

    if (vbs_dataset_info(s->validation)->split == VBS_SPLIT_TEST)
        return vbs_fail(ctx, VBS_USAGE,
                        "the test images cannot decide how much is pruned; the validation images "
                        "are for choices");
    if (!vbs_prune_ranking_word(o->ranking))
        return vbs_fail(ctx, VBS_USAGE, "no such ranking");
    if (!s->images && (o->epochs > 0 || o->ranking == VBS_PRUNE_TAYLOR))
        return vbs_fail(ctx, VBS_USAGE, "training images are needed to retrain and for Taylor");
    if (o->epochs < 0 || o->limit < 0 || !(o->rate > 0))
        return vbs_fail(ctx, VBS_USAGE, "%d epochs of retraining at a rate of %g", o->epochs,
                        o->rate);
    return vbs_eval_check(ctx, s->network, s->validation);
}

static enum vbs_status rank(struct vbs_ctx *ctx, struct vbs_sensitivity *s)
{
    const struct vbs_prune_options options = {.struct_size = sizeof options,
                                              .ranking = s->options.ranking,
                                              .seed = s->options.seed,
                                              .images = s->images,
                                              .normalise = s->normalise,
                                              .threads = s->options.threads};

    VBS_TRY(vbs_prune_groups(ctx, s->network, &s->groups));
    s->scores = malloc((size_t)(s->groups->n_channels + 1) * sizeof *s->scores);
    if (!s->scores)
        return vbs_no_memory(ctx);
    return vbs_prune_scores(ctx, s->network, s->groups, &options, s->scores);
}

enum vbs_status vbs_sensitivity_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_dataset *images,
                                     const struct vbs_dataset *validation,
                                     const struct vbs_normalise *normalise,
                                     const struct vbs_sensitivity_options *options,
                                     struct vbs_sensitivity **sensitivity)
{
    struct vbs_sensitivity_options own;
    struct vbs_sensitivity *s;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_sensitivity_options", options, &own, sizeof own));
    if (own.rate == 0)
        own.rate = VBS_SENSITIVITY_RATE;
    s = calloc(1, sizeof *s);
    if (!s)
        return vbs_no_memory(ctx);
    *s = (struct vbs_sensitivity){.network = network,
                                  .images = images,
                                  .validation = validation,
                                  .normalise = normalise,
                                  .options = own};
    status = check(ctx, s);
    if (status == VBS_OK)
        status = rank(ctx, s);
    if (status != VBS_OK) {
        vbs_sensitivity_free(s);
        return status;
    }
    *sensitivity = s;
    return VBS_OK;
}

void vbs_sensitivity_free(struct vbs_sensitivity *sensitivity)
{
    if (!sensitivity)
        return;
    vbs_prune_groups_free(sensitivity->groups);
    free(sensitivity->scores);
    free(sensitivity);
}

const struct vbs_prune_groups *vbs_sensitivity_groups(const struct vbs_sensitivity *sensitivity)
{
    return sensitivity->groups;
}

double vbs_sensitivity_share(const struct vbs_prune_group *group, int64_t keep)
{
    return (double)(group->n_channels - keep) / (double)group->n_channels;
}

/* ---- the key ---- */

static void add_images(const struct vbs_dataset *images, struct vbs_sha256 *hash)
{
    unsigned char digest[VBS_DATASET_DIGEST_BYTES] = {0};

    if (images)
        vbs_dataset_digest(images, digest);
    vbs_sha256_add(hash, digest, sizeof digest);
}

enum vbs_status vbs_sensitivity_key(struct vbs_ctx *ctx, const struct vbs_sensitivity *sensitivity,
                                    char key[VBS_SENSITIVITY_KEY_SIZE])
{
    const struct vbs_sensitivity *s = sensitivity;
    const struct vbs_sensitivity_options *o = &s->options;
    char normalise[VBS_NORMALISE_SIZE] = "", text[300];
    struct vbs_sha256 hash;
    bool trains = o->epochs > 0;
    int n = snprintf(text, sizeof text, "%016" PRIx64 " %d %" PRIu64 " %d %a %d %d %d %" PRId64,
                     vbs_network_hash(s->network), (int)o->ranking, o->seed, o->epochs,
                     trains ? o->rate : 0, trains ? o->batch : 0, trains && o->mirror,
                     trains ? o->max_shift : 0, o->limit);

    if (s->normalise)
        vbs_normalise_format(s->normalise, normalise, sizeof normalise);
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, text, (size_t)n);
    vbs_sha256_add(&hash, normalise, strlen(normalise));
    VBS_TRY(vbs_network_hash_values(ctx, s->network, &hash));
    add_images(s->validation, &hash);
    add_images(trains || o->ranking == VBS_PRUNE_TAYLOR ? s->images : NULL, &hash);
    vbs_sha256_end_text(&hash, key, VBS_SENSITIVITY_KEY_SIZE);
    return VBS_OK;
}

/* ---- a point ---- */

static enum vbs_status evaluate(struct vbs_ctx *ctx, const struct vbs_sensitivity *s,
                                const struct vbs_network *network, double *accuracy, double *loss)
{
    const struct vbs_eval_options options = {
        .struct_size = sizeof options, .threads = s->options.threads, .limit = s->options.limit};
    struct vbs_score score;

    VBS_TRY(vbs_evaluate(ctx, network, s->validation, s->normalise, &options, NULL, &score));
    *accuracy = (double)score.n_right / (double)score.n_images;
    *loss = score.loss_sum / (double)score.n_images;
    vbs_score_clear(&score);
    return VBS_OK;
}

static void report(void *self, double done, const struct vbs_train_epoch *so_far)
{
    const struct vbs_progress *progress = self;
    char text[60];

    if (!progress->report)
        return;
    snprintf(text, sizeof text, "retraining, epoch %d, loss %.4f", so_far->epoch, so_far->loss);
    progress->report(progress->self, done, -1, text);
}

/* Trains the network on, and evaluates it again. */
static enum vbs_status retrain(struct vbs_ctx *ctx, struct vbs_sensitivity *s,
                               const struct vbs_network *network,
                               struct vbs_sensitivity_point *point)
{
    const struct vbs_train_options options = {.struct_size = sizeof options,
                                              .epochs = s->options.epochs,
                                              .batch = s->options.batch,
                                              .threads = s->options.threads,
                                              .seed = s->options.seed,
                                              .rate = s->options.rate,
                                              .initialisation = VBS_INITIALISATION_KEEP,
                                              .mirror = s->options.mirror,
                                              .max_shift = s->options.max_shift,
                                              .self = &s->options.progress,
                                              .progress = report,
                                              .diverged = &point->diverged};
    struct vbs_network *trained;
    struct vbs_train_epoch last;
    enum vbs_status status;

    status = vbs_train(ctx, network, s->images, NULL, s->normalise, &options, &trained, &last);
    if (point->diverged && point->group >= 0)
        return VBS_OK;
    if (status != VBS_OK)
        return status;
    status = evaluate(ctx, s, trained, &point->retrained_accuracy, &point->retrained_loss);
    point->retrained = true;
    vbs_network_free(trained);
    return status;
}

static enum vbs_status measure(struct vbs_ctx *ctx, struct vbs_sensitivity *s,
                               const struct vbs_network *network,
                               struct vbs_sensitivity_point *point)
{
    point->parameters = vbs_network_parameters(network);
    point->macs = 0;
    for (int k = 1; k <= network->n_layers; k++)
        point->macs += network->layers[k].macs;
    VBS_TRY(evaluate(ctx, s, network, &point->accuracy, &point->loss));
    return s->options.epochs > 0 ? retrain(ctx, s, network, point) : VBS_OK;
}

/* Makes the network of a point; groups that are not pruned keep all. */
static enum vbs_status prune(struct vbs_ctx *ctx, const struct vbs_sensitivity *s, int group,
                             int64_t keep, struct vbs_network **pruned)
{
    int64_t *all = malloc((size_t)(s->groups->n_groups + 1) * sizeof *all);
    enum vbs_status status;

    if (!all)
        return vbs_no_memory(ctx);
    for (int g = 0; g < s->groups->n_groups; g++)
        all[g] = g == group ? keep : s->groups->groups[g].n_channels;
    status = vbs_prune_apply(ctx, s->network, s->groups, s->scores, all, pruned);
    free(all);
    return status;
}

enum vbs_status vbs_sensitivity_measure(struct vbs_ctx *ctx, struct vbs_sensitivity *sensitivity,
                                        int group, int64_t keep,
                                        struct vbs_sensitivity_point *point)
{
    struct vbs_sensitivity_point made = {.group = group < 0 ? -1 : group,
                                         .keep = group < 0 ? 0 : keep};
    struct vbs_network *pruned = NULL;
    enum vbs_status status;

    if (group >= sensitivity->groups->n_groups)
        return vbs_fail(ctx, VBS_USAGE, "the network has no group number %d", group);
    if (group >= 0)
        VBS_TRY(prune(ctx, sensitivity, group, keep, &pruned));
    status = measure(ctx, sensitivity, pruned ? pruned : sensitivity->network, &made);
    vbs_network_free(pruned);
    if (status == VBS_OK)
        *point = made;
    return status;
}
