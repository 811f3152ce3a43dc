#include "train/run.h"

#include "base/fail.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

/* In (0, 1). */
static double uniform(uint64_t key, uint64_t index)
{
    return ((double)(vbs_random(key, index) >> 12) + 0.5) / 4503599627370496.0;
}

/* Box and Muller (1958). */
static double normal(uint64_t key, uint64_t index)
{
    return sqrt(-2 * log(uniform(key, 2 * index))) *
           cos(2 * acos(-1.0) * uniform(key, 2 * index + 1));
}

/* Gives whether a ReLU is fused with the layer. */
static bool has_relu(const struct vbs_layer *l)
{
    for (int i = 0; i < l->n_fused; i++)
        if (l->fused[i].op == VBS_OP_RELU || l->fused[i].op == VBS_OP_LEAKY_RELU)
            return true;
    return false;
}

static void fill(const struct vbs_train_run *run, const struct vbs_trainable *p, int index,
                 float *plain)
{
    const struct vbs_train_options *o = &run->options;
    uint64_t key = vbs_random(vbs_random(o->seed, UINT64_C(0x696e6974)), (uint64_t)index);
    bool twice =
        o->initialisation == VBS_INITIALISATION_HE || has_relu(&run->network->layers[p->layer]);
    double width = sqrt((twice ? 2.0 : 1.0) / (double)(p->fan_in > 0 ? p->fan_in : 1));
    double side = sqrt(6.0 / (double)(p->fan_in + p->fan_out > 0 ? p->fan_in + p->fan_out : 1));
    bool glorot = o->initialisation == VBS_INITIALISATION_GLOROT;

    for (int64_t i = 0; i < p->count; i++) {
        if (p->what == VBS_PARAMETER_WEIGHTS)
            plain[i] = (float)(glorot ? side * (2 * uniform(key, (uint64_t)i) - 1)
                                      : width * normal(key, (uint64_t)i));
        else
            plain[i] = p->what == VBS_PARAMETER_GAMMA ? 1 : 0;
    }
}

enum vbs_status vbs_train_initialise(struct vbs_ctx *ctx, struct vbs_train_run *run)
{
    struct vbs_training *s = run->session;

    if (run->options.initialisation == VBS_INITIALISATION_KEEP)
        return VBS_OK;
    for (int i = 0; i < s->n_trainable; i++) {
        float *plain = malloc((size_t)s->trainable[i].count * sizeof *plain);
        enum vbs_status status = plain ? VBS_OK : vbs_no_memory(ctx);

        if (status == VBS_OK) {
            fill(run, &s->trainable[i], i, plain);
            status = s->ops->write(ctx, s, i, plain);
        }
        free(plain);
        if (status != VBS_OK)
            return status;
    }
    for (int i = 0; i < s->n_statistics; i++)
        for (int64_t k = 0; k < s->statistics[i].count; k++)
            s->statistics[i].values[k] = s->statistics[i].what == VBS_PARAMETER_VARIANCE ? 1 : 0;
    return VBS_OK;
}
