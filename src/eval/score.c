#include "vbslab/eval.h"

#include "base/fail.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum vbs_answers vbs_network_answers(const struct vbs_network *network)
{
    const struct vbs_layer *last = &network->layers[network->outputs[0].layer];

    /* An operator that is fused with it would change what it makes. */
    if (last->n_fused > 0)
        return VBS_ANSWERS_LOGITS;
    return last->op == VBS_OP_SOFTMAX      ? VBS_ANSWERS_PROBABILITIES
           : last->op == VBS_OP_LOGSOFTMAX ? VBS_ANSWERS_LOG_PROBABILITIES
                                           : VBS_ANSWERS_LOGITS;
}

enum vbs_status vbs_score_init(struct vbs_ctx *ctx, int n_classes, enum vbs_answers answers,
                               struct vbs_score *score)
{
    struct vbs_score made = {.answers = answers, .n_classes = n_classes};

    if (n_classes <= VBS_SCORE_MAX_CLASSES) {
        made.confusion = calloc((size_t)n_classes * (size_t)n_classes, sizeof *made.confusion);
        if (!made.confusion)
            return vbs_no_memory(ctx);
    }
    *score = made;
    return VBS_OK;
}

void vbs_score_clear(struct vbs_score *score)
{
    free(score->confusion);
    *score = (struct vbs_score){.n_images = 0};
}

/* Gives the loss of an image whose outputs are finite. */
static double loss_of(const struct vbs_score *score, const float *outputs, int label, int answer)
{
    double sum = 0;

    switch (score->answers) {
    case VBS_ANSWERS_PROBABILITIES:
        return -log(fmax(outputs[label], FLT_MIN));
    case VBS_ANSWERS_LOG_PROBABILITIES:
        return -(double)outputs[label];
    default:
        for (int k = 0; k < score->n_classes; k++)
            sum += exp((double)outputs[k] - outputs[answer]);
        return log(sum) - ((double)outputs[label] - outputs[answer]);
    }
}

/* Counts one image. */
static enum vbs_status add_image(struct vbs_ctx *ctx, struct vbs_score *score, const float *outputs,
                                 int label)
{
    int answer = 0, n_before = 0; /* outputs that come before the label's */

    if (label < 0 || label >= score->n_classes)
        return vbs_fail(ctx, VBS_LIBRARY, "label %d of image %" PRId64 " is not one of %d classes",
                        label, score->n_images, score->n_classes);
    for (int k = 0; k < score->n_classes; k++) {
        if (!isfinite(outputs[k]))
            return vbs_fail(ctx, VBS_LIBRARY,
                            "output %d of the network is no finite number for "
                            "image %" PRId64 " (the first is 0)",
                            k, score->n_images);
        answer = outputs[k] > outputs[answer] ? k : answer;
        n_before += outputs[k] > outputs[label] || (k < label && outputs[k] == outputs[label]);
    }
    score->n_images++;
    score->n_right += answer == label;
    score->n_top += n_before < VBS_SCORE_TOP;
    score->loss_sum += loss_of(score, outputs, label, answer);
    if (score->confusion)
        score->confusion[(int64_t)label * score->n_classes + answer]++;
    return VBS_OK;
}

enum vbs_status vbs_score_add(struct vbs_ctx *ctx, struct vbs_score *score, int n,
                              const float *outputs, const int *labels)
{
    for (int i = 0; i < n; i++)
        VBS_TRY(add_image(ctx, score, outputs + (int64_t)i * score->n_classes, labels[i]));
    return VBS_OK;
}
