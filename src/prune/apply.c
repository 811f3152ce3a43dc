/* The network without the channels that are least important. */
#include "prune/groups.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>

struct scored {
    double score;
    int64_t channel;
};

/* A pruning. */
struct pruning {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_prune_whole *whole;
    const double *scores; /* null: the first channels stay */
    const int64_t *keep;
    struct vbs_arena arena;
    bool *stays; /* [n_channels] */
};

static enum vbs_status check_keep(const struct pruning *p)
{
    for (int g = 0; g < p->whole->head.n_groups; g++) {
        const struct vbs_prune_group *group = &p->whole->groups[g];

        if (p->keep[g] < 1 || p->keep[g] > group->n_channels)
            return vbs_fail(p->ctx, VBS_USAGE,
                            "group '%.100s' cannot keep %lld channels; it can keep 1 to %lld",
                            group->name, (long long)p->keep[g], (long long)group->n_channels);
        if (group->fixed && p->keep[g] < group->n_channels)
            return vbs_fail(p->ctx, VBS_USAGE, "group '%.100s' cannot be pruned: %s", group->name,
                            group->fixed);
    }
    for (int64_t i = 0; p->scores && i < p->whole->head.n_channels; i++)
        if (isnan(p->scores[i]))
            return vbs_fail(p->ctx, VBS_USAGE, "the score of channel %lld is no number",
                            (long long)i);
    return VBS_OK;
}

static int compare_scored(const void *a, const void *b)
{
    const struct scored *left = a, *right = b;

    if (left->score > right->score || left->score < right->score)
        return left->score > right->score ? -1 : 1;
    return left->channel < right->channel ? -1 : 1;
}

/* Chooses the channels of a group that stay. order has space for all of its channels. */
static void choose(const struct pruning *p, int g, struct scored *order)
{
    const struct vbs_prune_group *group = &p->whole->groups[g];

    for (int64_t i = 0; i < group->n_channels; i++)
        order[i] = (struct scored){.score = p->scores ? p->scores[group->first + i] : 0,
                                   .channel = group->first + i};
    qsort(order, (size_t)group->n_channels, sizeof *order, compare_scored);
    for (int64_t i = 0; i < p->keep[g]; i++)
        p->stays[order[i].channel] = true;
}

/* Makes the cut of a tensor, where it loses anything. */
static enum vbs_status cut_tensor(struct pruning *p, int layer, struct vbs_cut *cut)
{
    const struct vbs_prune_tensor *tensor = &p->whole->tensors[layer];
    int64_t n_kept = 0;
    bool *keep;

    if (!tensor->channels)
        return VBS_OK;
    keep = vbs_arena_alloc(&p->arena, (size_t)tensor->n, sizeof *keep);
    if (!keep)
        return vbs_no_memory(p->ctx);
    for (int64_t i = 0; i < tensor->n; i++) {
        keep[i] = tensor->channels[i] < 0 || p->stays[tensor->channels[i]];
        n_kept += keep[i];
    }
    if (n_kept < tensor->n)
        *cut = (struct vbs_cut){.axis = tensor->axis, .keep = keep};
    return VBS_OK;
}

static enum vbs_status prune(struct pruning *p, bool seeded, struct vbs_network **pruned)
{
    size_t n = (size_t)p->whole->head.n_channels + 1;
    struct scored *order = vbs_arena_alloc(&p->arena, n, sizeof *order);
    struct vbs_cut *cuts =
        vbs_arena_alloc(&p->arena, (size_t)p->network->n_layers + 1, sizeof *cuts);

    p->stays = vbs_arena_alloc(&p->arena, n, sizeof *p->stays);
    if (!order || !cuts || !p->stays)
        return vbs_no_memory(p->ctx);
    VBS_TRY(check_keep(p));
    for (int g = 0; g < p->whole->head.n_groups; g++)
        choose(p, g, order);
    for (int k = 1; k <= p->network->n_layers; k++)
        VBS_TRY(cut_tensor(p, k, &cuts[k]));
    return vbs_network_cut(p->ctx, p->network, cuts, seeded, pruned);
}

enum vbs_status vbs_prune_apply(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_prune_groups *groups, const double *scores,
                                const int64_t *keep, struct vbs_network **pruned)
{
    struct pruning p = {.ctx = ctx, .network = network, .scores = scores, .keep = keep};
    enum vbs_status status = vbs_prune_own(ctx, network, groups, &p.whole);

    if (status == VBS_OK)
        status = prune(&p, false, pruned);
    vbs_arena_clear(&p.arena);
    return status;
}

enum vbs_status vbs_prune_shapes(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_groups *groups, const int64_t *keep,
                                 struct vbs_network **pruned)
{
    struct pruning p = {.ctx = ctx, .network = network, .keep = keep};
    enum vbs_status status = vbs_prune_own(ctx, network, groups, &p.whole);

    if (status == VBS_OK)
        status = prune(&p, true, pruned);
    vbs_arena_clear(&p.arena);
    return status;
}

int64_t vbs_prune_keep(const struct vbs_prune_group *group, double share, int64_t step)
{
    /* a share such as 0.3 of 10 is 3 channels, though the product may be a little less */
    int64_t keep = group->n_channels - (int64_t)floor(share * (double)group->n_channels + 1e-9);

    if (group->fixed || keep > group->n_channels)
        return group->n_channels;
    if (keep < 1)
        keep = 1;
    if (step > 1) {
        int64_t filters = (keep * group->unit + step - 1) / step * step;

        keep = (filters + group->unit - 1) / group->unit;
    }
    return keep < group->n_channels ? keep : group->n_channels;
}
