/* Copies of networks in which factors of channels are in the weights, or with more outputs. */
#include "model/network/fold.h"

#include "base/fail.h"
#include "model/network/copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A copy that is being made. */
struct folding {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const bool *wanted; /* of a copy with more outputs */
};

/* ---- what is folded ---- */

static bool has_factors(enum vbs_op op)
{
    return op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE;
}

/* Counts the operators that are folded: the first of the fused ones. */
static int count_folded(const struct vbs_layer *l)
{
    bool weighted = l->op == VBS_OP_CONV || l->op == VBS_OP_CONV_TRANSPOSE ||
                    (l->op == VBS_OP_FC && !l->attributes.weighted.rows);
    int n = 0;

    while (weighted && n < l->n_fused &&
           (has_factors(l->fused[n].op) || l->fused[n].op == VBS_OP_DROPOUT))
        n++;
    return n;
}

/* Gives whether the layer has a bias in the copy. */
static bool gets_bias(const struct vbs_layer *l)
{
    for (int f = 0; f < count_folded(l); f++)
        if (has_factors(l->fused[f].op))
            return true;
    return false;
}

static enum vbs_status fold_node(void *self, int layer, struct vbs_node *node)
{
    const struct folding *f = self;

    if (gets_bias(&f->network->layers[layer]))
        node->attributes.weighted.bias = true;
    return VBS_OK;
}

static bool is_folded(void *self, int layer, int fused)
{
    const struct folding *f = self;

    return fused < count_folded(&f->network->layers[layer]);
}

/* ---- values ---- */

/* y = factor x + shift for channels. */
struct channel_line {
    int64_t n;
    double *factor, *shift; /* [n] */
    float *read[4];         /* [n] gamma, beta, mean, variance */
};

static void clear_line(struct channel_line *line)
{
    free(line->factor);
    free(line->shift);
    for (int i = 0; i < 4; i++)
        free(line->read[i]);
}

static enum vbs_status new_line(struct vbs_ctx *ctx, int64_t n, struct channel_line *line)
{
    bool made;

    *line = (struct channel_line){.n = n};
    line->factor = malloc((size_t)n * sizeof *line->factor);
    line->shift = calloc((size_t)n, sizeof *line->shift);
    made = line->factor && line->shift;
    for (int i = 0; i < 4; i++) {
        line->read[i] = malloc((size_t)n * sizeof **line->read);
        made = made && line->read[i];
    }
    for (int64_t c = 0; made && c < n; c++)
        line->factor[c] = 1;
    return made ? VBS_OK : vbs_no_memory(ctx);
}

/* Lets a BatchNorm or Scale follow on a line. */
static enum vbs_status follow(const struct folding *f, int layer, int fused,
                              struct channel_line *line)
{
    static const enum vbs_parameter WHAT[] = {VBS_PARAMETER_GAMMA, VBS_PARAMETER_BETA,
                                              VBS_PARAMETER_MEAN, VBS_PARAMETER_VARIANCE};
    const struct vbs_fused *norm = &f->network->layers[layer].fused[fused];
    bool batch = norm->op == VBS_OP_BATCHNORM;
    double epsilon = norm->attributes.norm.epsilon;

    if (epsilon == 0)
        epsilon = VBS_BATCHNORM_EPSILON;
    for (int i = 0; i < 4; i++)
        VBS_TRY(vbs_parameter_values(f->ctx, f->network, layer, fused, WHAT[i], 0, line->n,
                                     line->read[i]));
    for (int64_t c = 0; c < line->n; c++) {
        double factor = (double)line->read[0][c], shift = (double)line->read[1][c];

        if (batch) {
            factor /= sqrt((double)line->read[3][c] + epsilon);
            shift -= (double)line->read[2][c] * factor;
        }
        line->factor[c] *= factor;
        line->shift[c] = line->shift[c] * factor + shift;
    }
    return VBS_OK;
}

/* Gives the channel of the output that a weight belongs to. */
static int64_t channel_of(const struct vbs_layer *l, int64_t count, int64_t i)
{
    int64_t out = l->attributes.weighted.out_channels, groups = l->attributes.weighted.groups;
    int64_t in, each, window;

    if (l->op != VBS_OP_CONV_TRANSPOSE)
        return i / (count / out);
    in = l->views[0].dim[0];
    each = out / groups;
    window = count / (in * each);
    return i / window / each / (in / groups) * each + i / window % each;
}

static int64_t fold_count(void *self, int layer, int fused, enum vbs_parameter what)
{
    const struct folding *f = self;
    const struct vbs_layer *l = &f->network->layers[layer];

    if (fused < 0 && what == VBS_PARAMETER_BIAS && gets_bias(l))
        return l->attributes.weighted.out_channels;
    return vbs_parameter_count(f->network, layer, fused, what);
}

static enum vbs_status apply_line(const struct folding *f, int layer, enum vbs_parameter what,
                                  int64_t count, struct channel_line *line, float *values)
{
    const struct vbs_layer *l = &f->network->layers[layer];

    for (int i = 0; i < count_folded(l); i++)
        if (has_factors(l->fused[i].op))
            VBS_TRY(follow(f, layer, i, line));
    for (int64_t i = 0; i < count; i++) {
        int64_t c = what == VBS_PARAMETER_BIAS ? i : channel_of(l, count, i);

        values[i] = (float)((double)values[i] * line->factor[c] +
                            (what == VBS_PARAMETER_BIAS ? line->shift[c] : 0));
    }
    return VBS_OK;
}

static enum vbs_status fold_values(void *self, int layer, int fused, enum vbs_parameter what,
                                   int64_t count, float *values)
{
    const struct folding *f = self;
    const struct vbs_layer *l = &f->network->layers[layer];
    struct channel_line line;
    enum vbs_status status;

    if (vbs_parameter_count(f->network, layer, fused, what) > 0)
        VBS_TRY(vbs_parameter_read(f->ctx, f->network, layer, fused, what, 0, count, values));
    else
        memset(values, 0, (size_t)count * sizeof *values);
    if (fused >= 0 || !gets_bias(l))
        return VBS_OK;
    status = new_line(f->ctx, l->attributes.weighted.out_channels, &line);
    if (status == VBS_OK)
        status = apply_line(f, layer, what, count, &line, values);
    clear_line(&line);
    return status;
}

enum vbs_status vbs_network_fold(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 struct vbs_network **copy)
{
    struct folding folding = {.ctx = ctx, .network = network};
    const struct vbs_network_change change = {.self = &folding,
                                              .node = fold_node,
                                              .skip = is_folded,
                                              .count = fold_count,
                                              .values = fold_values};
    bool any = false;

    for (int k = 1; k <= network->n_layers; k++)
        any = any || count_folded(&network->layers[k]) > 0;
    if (any)
        return vbs_network_copy(ctx, network, &change, copy);
    *copy = NULL;
    return VBS_OK;
}

/* ---- more outputs ---- */

static bool is_tapped(void *self, int layer, int fused)
{
    const struct folding *f = self;

    return f->wanted[vbs_network_operator(f->network, layer, fused)] &&
           fused + 1 < f->network->layers[layer].n_fused;
}

static int64_t count_values(void *self, int layer, int fused, enum vbs_parameter what)
{
    const struct folding *f = self;

    return vbs_parameter_count(f->network, layer, fused, what);
}

static enum vbs_status copy_all(void *self, int layer, int fused, enum vbs_parameter what,
                                int64_t count, float *values)
{
    const struct folding *f = self;

    return vbs_parameter_read(f->ctx, f->network, layer, fused, what, 0, count, values);
}

enum vbs_status vbs_network_tap(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const bool *wanted, struct vbs_network **copy)
{
    struct folding folding = {.ctx = ctx, .network = network, .wanted = wanted};
    const struct vbs_network_change change = {
        .self = &folding, .tap = is_tapped, .count = count_values, .values = copy_all};

    return vbs_network_copy(ctx, network, &change, copy);
}
