#include "report/compare/judge.h"

#include "base/fail.h"

#include <string.h>

/* The first layer of a that has no namesake in b; 0: each has one. */
static int find_missing(const struct vbs_profile *a, const struct vbs_profile *b)
{
    for (int k = 1; k <= a->n_layers; k++) {
        int i = 1;

        while (i <= b->n_layers && strcmp(a->layers[k].name, b->layers[i].name) != 0)
            i++;
        if (i > b->n_layers)
            return k;
    }
    return 0;
}

/* Two profiles of one network may have different layers: a backend that reads the inputs of a
 * concat where they are has no layer for it, another one copies. Their schedules do not fit each
 * other. */
static enum vbs_status fail_layers(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_profile *judge)
{
    int first = find_missing(profile, judge), second = find_missing(judge, profile);
    const struct vbs_profile_layer *layer = first    ? &profile->layers[first]
                                            : second ? &judge->layers[second]
                                                     : NULL;
    bool concat = layer && strcmp(layer->kind, "concat") == 0;

    if (!layer)
        return vbs_fail(ctx, VBS_INVALID,
                        "the judging profile is of another network: it has %d layers, not %d",
                        judge->n_layers, profile->n_layers);
    return vbs_fail(ctx, VBS_INVALID,
                    "the judging profile is of another network: it has %d layers, not %d; only the "
                    "%s has layer %d '%.60s' (%.20s)%s",
                    judge->n_layers, profile->n_layers, first ? "first" : "judging one",
                    first ? first : second, layer->name, layer->kind,
                    concat ? ", which a backend that does not copy leaves out" : "");
}

enum vbs_status vbs_judge_check(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_profile *judge)
{
    if (judge->n_layers != profile->n_layers)
        return fail_layers(ctx, profile, judge);
    for (int k = 0; k <= profile->n_layers; k++)
        if (judge->layers[k].out_bytes != profile->layers[k].out_bytes)
            return vbs_fail(ctx, VBS_INVALID,
                            "the judging profile is of another network or input: layer %d '%s' "
                            "gives %lld bytes per sample, not %lld",
                            k, k > 0 ? judge->layers[k].name : "input",
                            (long long)judge->layers[k].out_bytes,
                            (long long)profile->layers[k].out_bytes);
    return VBS_OK;
}

/* Whether copies and layers slow each other down by the same factors. */
static bool same_beside(const struct vbs_link *a, const struct vbs_link *b, int n_layers)
{
    for (int k = 0; (a->beside || b->beside) && k <= n_layers; k++)
        if ((a->beside ? a->beside[k] : 1) != (b->beside ? b->beside[k] : 1))
            return false;
    return true;
}

static bool same_copies(const struct vbs_profile *a, const struct vbs_profile *b)
{
    if (a->n_copies != b->n_copies)
        return false;
    for (int i = 0; i < a->n_copies; i++) {
        const struct vbs_copy *other = vbs_profile_copy(b, a->copies[i].source);

        if (!other || other->link.latency_us != a->copies[i].link.latency_us ||
            other->link.bytes_per_us != a->copies[i].link.bytes_per_us ||
            !same_beside(&a->copies[i].link, &other->link, a->n_layers))
            return false;
    }
    return true;
}

struct vbs_link vbs_judge_link(const struct vbs_profile *judge, const struct vbs_link *asked)
{
    const struct vbs_copy *own = asked->source ? vbs_profile_copy(judge, asked->source) : NULL;

    return own ? own->link : *asked;
}

static bool same_rows(const struct vbs_profile *a, const struct vbs_profile *b, int layer,
                      int batch)
{
    int n_a, n_b;
    const struct vbs_profile_row *rows_a = vbs_profile_rows(a, layer, batch, &n_a);
    const struct vbs_profile_row *rows_b = vbs_profile_rows(b, layer, batch, &n_b);

    if (n_a != n_b)
        return false;
    for (int i = 0; i < n_a; i++)
        if (rows_a[i].time_us != rows_b[i].time_us || rows_a[i].ws_bytes != rows_b[i].ws_bytes)
            return false;
    return true;
}

bool vbs_judge_is_same(const struct vbs_profile *a, const struct vbs_profile *b,
                       enum vbs_weights weights)
{
    if (a == b)
        return true;
    if (a->n_layers != b->n_layers || a->n_batches != b->n_batches)
        return false;
    if (weights == VBS_WEIGHTS_INCLUDED && !same_copies(a, b))
        return false;
    for (int layer = 1; layer <= a->n_layers; layer++)
        for (int batch = 0; batch < a->n_batches; batch++)
            if (!same_rows(a, b, layer, batch))
                return false;
    return true;
}
