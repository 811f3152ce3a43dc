/* What a training is: a checkpoint continues only the training that wrote it. */
#include "train/run.h"

#include "base/fail.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Hashes the parameters and running statistics with which the training begins. */
static enum vbs_status add_parameters(struct vbs_ctx *ctx, struct vbs_train_run *run,
                                      struct vbs_sha256 *hash)
{
    struct vbs_training *s = run->session;

    for (int i = 0; i < s->n_trainable; i++) {
        size_t count = (size_t)s->trainable[i].count;
        float *plain = malloc(count * sizeof *plain);
        enum vbs_status status = plain ? s->ops->read(ctx, s, i, false, plain) : vbs_no_memory(ctx);

        if (status == VBS_OK)
            vbs_sha256_add(hash, plain, count * sizeof *plain);
        free(plain);
        if (status != VBS_OK)
            return status;
    }
    for (int i = 0; i < s->n_statistics; i++)
        vbs_sha256_add(hash, s->statistics[i].values,
                       (size_t)s->statistics[i].count * sizeof(float));
    return VBS_OK;
}

static enum vbs_status identify_network(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    uint64_t network = vbs_network_hash(run->network);
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, &network, sizeof network);
    if (run->options.initialisation == VBS_INITIALISATION_KEEP)
        VBS_TRY(add_parameters(ctx, run, &hash));
    vbs_sha256_end(&hash, run->identity.digest[VBS_TRAIN_NETWORK]);
    return VBS_OK;
}

static void identify_images(struct vbs_train_run *run)
{
    unsigned char images[VBS_DATASET_DIGEST_BYTES];
    char normalise[VBS_NORMALISE_SIZE] = "";
    struct vbs_sha256 hash;

    vbs_dataset_digest(run->images, images);
    if (run->normalise)
        vbs_normalise_format(run->normalise, normalise, sizeof normalise);
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, images, sizeof images);
    vbs_sha256_add(&hash, normalise, strlen(normalise));
    vbs_sha256_end(&hash, run->identity.digest[VBS_TRAIN_IMAGES]);
}

void vbs_train_options_text(const struct vbs_train_options *o, char text[VBS_TRAIN_OPTIONS_SIZE])
{
    memset(text, 0, VBS_TRAIN_OPTIONS_SIZE);
    snprintf(text, VBS_TRAIN_OPTIONS_SIZE,
             "%d %d %" PRIu64 " %d %a %a %d %a %d %d %a %a %a %a %a %d %d %d", o->epochs, o->batch,
             o->seed, (int)o->optimiser, o->rate, o->momentum, (int)o->nesterov, o->weight_decay,
             (int)o->decay_all, (int)o->course, o->warm_up_epochs, o->rate_epochs, o->rate_factor,
             o->label_smoothing, o->dropout_rate, (int)o->initialisation, (int)o->mirror,
             o->max_shift);
}

static void identify_options(struct vbs_train_run *run)
{
    char text[VBS_TRAIN_OPTIONS_SIZE];
    struct vbs_sha256 hash;

    vbs_train_options_text(&run->options, text);
    vbs_sha256_begin(&hash);
    vbs_sha256_add(&hash, text, strlen(text));
    vbs_sha256_end(&hash, run->identity.digest[VBS_TRAIN_OPTIONS]);
}

enum vbs_status vbs_train_identify(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    VBS_TRY(identify_network(ctx, run));
    identify_images(run);
    identify_options(run);
    return VBS_OK;
}

enum vbs_status vbs_train_compare(struct vbs_ctx *ctx, const struct vbs_train_run *run,
                                  const struct vbs_train_identity *kept, const char *path)
{
    static const char *const NAMES[] = {[VBS_TRAIN_NETWORK] = "the network or its first parameters",
                                        [VBS_TRAIN_IMAGES] =
                                            "the images, their labels or their normalisation",
                                        [VBS_TRAIN_OPTIONS] = "the options"};
    char names[200] = "";

    for (int i = 0; i < VBS_TRAIN_N_CAUSES; i++) {
        size_t used = strlen(names);

        if (memcmp(kept->digest[i], run->identity.digest[i], sizeof kept->digest[i]) != 0)
            snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", NAMES[i]);
    }
    if (!names[0])
        return VBS_OK;
    return vbs_fail(ctx, VBS_USAGE,
                    "the checkpoint '%s' belongs to another training, which differs in %s; remove "
                    "it, or name another file",
                    path, names);
}
