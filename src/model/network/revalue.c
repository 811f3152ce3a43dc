/* Copies of networks with other values of parameters. */
#include "model/network/copy.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A copy that is being made. */
struct revaluation {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_new_values **given; /* [n_given] ascending by layer, operator, parameter */
    size_t n_given;
};

/* ---- the new values ---- */

static int place_of(const struct vbs_new_values *v)
{
    return v->fused < 0 ? -1 : v->fused;
}

static int compare_given(const void *a, const void *b)
{
    const struct vbs_new_values *left = *(const struct vbs_new_values *const *)a;
    const struct vbs_new_values *right = *(const struct vbs_new_values *const *)b;

    if (left->layer != right->layer)
        return left->layer < right->layer ? -1 : 1;
    if (place_of(left) != place_of(right))
        return place_of(left) < place_of(right) ? -1 : 1;
    return (left->what > right->what) - (left->what < right->what);
}

/* Refuses values: "layer 3 'conv1', weights: what". */
static enum vbs_status refuse(const struct revaluation *r, const struct vbs_new_values *v,
                              const char *what)
{
    const struct vbs_layer *l = &r->network->layers[v->layer];

    return vbs_fail(r->ctx, VBS_USAGE, "layer %d '%.100s', %s: %s", v->layer,
                    v->fused < 0 ? l->name : l->fused[v->fused].name, vbs_parameter_word(v->what),
                    what);
}

static enum vbs_status check_finite(const struct revaluation *r, const struct vbs_new_values *v)
{
    char text[64];

    for (int64_t i = 0; i < v->count; i++) {
        if (isfinite(v->values[i]))
            continue;
        snprintf(text, sizeof text, "value %lld is %s", (long long)i,
                 isnan(v->values[i]) ? "no number" : "infinite");
        return refuse(r, v, text);
    }
    return VBS_OK;
}

static enum vbs_status check_given(const struct revaluation *r, const struct vbs_new_values *v)
{
    int64_t count = vbs_parameter_count(r->network, v->layer, v->fused, v->what);
    char text[96];

    if (v->layer < 1 || v->layer > r->network->n_layers)
        return vbs_fail(r->ctx, VBS_USAGE, "there is no layer %d; the network has %d layers",
                        v->layer, r->network->n_layers);
    if (v->fused >= r->network->layers[v->layer].n_fused)
        return vbs_fail(r->ctx, VBS_USAGE,
                        "layer %d '%.100s' has no fused operator %d; it has %d of them", v->layer,
                        r->network->layers[v->layer].name, v->fused,
                        r->network->layers[v->layer].n_fused);
    if (count == 0)
        return refuse(r, v, "the operator has no such parameter");
    if (v->count != count) {
        snprintf(text, sizeof text, "%lld values are given; the parameter has %lld",
                 (long long)v->count, (long long)count);
        return refuse(r, v, text);
    }
    return check_finite(r, v);
}

static enum vbs_status take_given(struct revaluation *r, const struct vbs_new_values *values, int n)
{
    r->given = calloc((size_t)n + 1, sizeof *r->given);
    if (!r->given)
        return vbs_no_memory(r->ctx);
    for (int i = 0; i < n; i++) {
        VBS_TRY(check_given(r, &values[i]));
        r->given[i] = &values[i];
    }
    r->n_given = (size_t)n;
    qsort(r->given, r->n_given, sizeof(const struct vbs_new_values *), compare_given);
    for (int i = 1; i < n; i++)
        if (compare_given(&r->given[i - 1], &r->given[i]) == 0)
            return refuse(r, r->given[i], "the parameter is given twice");
    return VBS_OK;
}

static const struct vbs_new_values *find_given(const struct revaluation *r, int layer, int fused,
                                               enum vbs_parameter what)
{
    const struct vbs_new_values wanted = {.layer = layer, .fused = fused, .what = what};
    const struct vbs_new_values *key = &wanted, **found;

    found =
        bsearch(&key, r->given, r->n_given, sizeof(const struct vbs_new_values *), compare_given);
    return found ? *found : NULL;
}

/* ---- the copy ---- */

static int64_t count_values(void *self, int layer, int fused, enum vbs_parameter what)
{
    const struct revaluation *r = self;

    return vbs_parameter_count(r->network, layer, fused, what);
}

static enum vbs_status copy_values(void *self, int layer, int fused, enum vbs_parameter what,
                                   int64_t count, float *values)
{
    const struct revaluation *r = self;
    const struct vbs_new_values *given = find_given(r, layer, fused, what);

    if (!given)
        return vbs_parameter_read(r->ctx, r->network, layer, fused, what, 0, count, values);
    memcpy(values, given->values, (size_t)count * sizeof *values);
    return VBS_OK;
}

enum vbs_status vbs_network_revalue(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_new_values *values, int n,
                                    struct vbs_network **copy)
{
    struct revaluation r = {.ctx = ctx, .network = network};
    const struct vbs_network_change change = {
        .self = &r, .count = count_values, .values = copy_values};
    enum vbs_status status = take_given(&r, values, n);

    if (status == VBS_OK)
        status = vbs_network_copy(ctx, network, &change, copy);
    free(r.given);
    return status;
}
