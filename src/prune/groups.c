/*
 * Groups of channels. Channels that have to be removed together are a set (channels.h); sets that
 * every tensor has equally often are a group, so that no tensor becomes empty as long as each group
 * keeps one of its sets, and the sizes of all tensors depend on the numbers of sets alone.
 */
#include "prune/groups.h"

#include "base/fail.h"
#include "model/network/network.h"
#include "prune/channels.h"
#include "prune/filters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A set of channels while sets are divided. */
struct counted {
    int root, part, count;
};

/* The division of the sets. */
struct set_division {
    struct vbs_channel_map *map;
    struct vbs_prune_whole *whole;
    int *part;    /* [n_channels] of a root: its part so far */
    int *count;   /* [n_channels] of a root: how often a tensor has it; 0 between tensors */
    int *channel; /* [n_channels] of a root: its number in its group, then among the scores; -1 */
    int *group;   /* [n_channels] by part; -1: none */
    struct counted *sets;
    int n_parts;
};

enum vbs_status vbs_prune_own(struct vbs_ctx *ctx, const struct vbs_network *network,
                              const struct vbs_prune_groups *groups,
                              const struct vbs_prune_whole **whole)
{
    const struct vbs_prune_whole *own = (const struct vbs_prune_whole *)groups;

    if (own->n_layers != network->n_layers || own->hash != vbs_network_plain_hash(network))
        return vbs_fail(ctx, VBS_USAGE, "the groups are not those of network '%.100s'",
                        network->name);
    *whole = own;
    return VBS_OK;
}

void vbs_prune_groups_free(struct vbs_prune_groups *groups)
{
    struct vbs_prune_whole *whole = (struct vbs_prune_whole *)groups;

    if (whole) {
        vbs_arena_clear(&whole->arena);
        free(whole);
    }
}

/* ---- dividing sets ---- */

static int compare_counted(const void *a, const void *b)
{
    const struct counted *left = a, *right = b;

    if (left->part != right->part)
        return left->part < right->part ? -1 : 1;
    if (left->count != right->count)
        return left->count < right->count ? -1 : 1;
    return (left->root > right->root) - (left->root < right->root);
}

/* Divides parts: of the n sets, those of one part and one count become a part of their own. */
static void divide(struct set_division *d, int64_t n)
{
    qsort(d->sets, (size_t)n, sizeof *d->sets, compare_counted);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || d->sets[i].part != d->sets[i - 1].part ||
            d->sets[i].count != d->sets[i - 1].count)
            d->n_parts++;
        d->part[d->sets[i].root] = d->n_parts - 1;
    }
}

/* Divides the sets that a tensor has by how often it has them. */
static void divide_by_tensor(struct set_division *d, const struct vbs_channels *tensor)
{
    int64_t n = 0;

    for (int64_t i = 0; tensor->ids && i < tensor->n; i++) {
        int root;

        if (tensor->ids[i] == VBS_NO_CHANNEL)
            continue;
        root = vbs_channel_root(d->map, tensor->ids[i]);
        if (d->count[root]++ == 0)
            d->sets[n++] = (struct counted){.root = root, .part = d->part[root]};
    }
    for (int64_t i = 0; i < n; i++) {
        d->sets[i].count = d->count[d->sets[i].root];
        d->count[d->sets[i].root] = 0;
    }
    divide(d, n);
}

/* Divides the sets that are fixed from the others. */
static void divide_by_fixed(struct set_division *d)
{
    int64_t n = 0;

    for (int i = 0; i < d->map->n_channels; i++)
        if (d->map->channels[i].parent == i)
            d->sets[n++] = (struct counted){
                .root = i, .part = d->part[i], .count = d->map->channels[i].fixed != VBS_FIXED_NOT};
    divide(d, n);
}

static enum vbs_status divide_all(struct set_division *d)
{
    size_t n = (size_t)d->map->n_channels + 1;

    d->part = calloc(n, sizeof *d->part);
    d->count = calloc(n, sizeof *d->count);
    d->channel = malloc(n * sizeof *d->channel);
    d->sets = malloc(n * sizeof *d->sets);
    d->n_parts = 1; /* all sets are in part 0 */
    if (!d->part || !d->count || !d->channel || !d->sets)
        return vbs_no_memory(d->map->ctx);
    for (int k = 1; k <= d->map->network->n_layers; k++)
        divide_by_tensor(d, &d->map->tensors[k]);
    divide_by_fixed(d);
    d->group = malloc((size_t)(d->n_parts + 1) * sizeof *d->group);
    if (!d->group)
        return vbs_no_memory(d->map->ctx);
    return VBS_OK;
}

/* ---- numbering ---- */

/* Gives whether channel i is a filter. */
static bool is_filter(const struct set_division *d, int i)
{
    return vbs_prune_has_filters(d->map->network, d->map->channels[i].layer);
}

/* Numbers groups, and the sets in each, by their first filters. */
static enum vbs_status number_sets(struct set_division *d)
{
    struct vbs_prune_whole *w = d->whole;
    int64_t first = 0;

    for (int i = 0; i < d->n_parts; i++)
        d->group[i] = -1;
    for (int i = 0; i < d->map->n_channels; i++)
        d->channel[i] = -1;
    w->groups = vbs_arena_alloc(&w->arena, (size_t)d->n_parts, sizeof *w->groups);
    if (!w->groups)
        return vbs_no_memory(d->map->ctx);
    for (int i = 0; i < d->map->n_channels; i++) {
        int root = vbs_channel_root(d->map, i), *group = &d->group[d->part[root]];

        if (d->channel[root] >= 0 || !is_filter(d, i))
            continue;
        if (*group < 0)
            *group = w->head.n_groups++;
        d->channel[root] = (int)w->groups[*group].n_channels++;
    }
    for (int g = 0; g < w->head.n_groups; g++) {
        w->groups[g].first = first;
        first += w->groups[g].n_channels;
    }
    for (int i = 0; i < d->map->n_channels; i++)
        if (d->map->channels[i].parent == i && d->channel[i] >= 0)
            d->channel[i] += (int)w->groups[d->group[d->part[i]]].first;
    w->head.n_channels = first;
    w->head.groups = w->groups;
    return VBS_OK;
}

static enum vbs_status number_tensors(struct set_division *d)
{
    struct vbs_prune_whole *w = d->whole;
    int n_layers = d->map->network->n_layers;

    w->tensors = vbs_arena_alloc(&w->arena, (size_t)n_layers + 1, sizeof *w->tensors);
    if (!w->tensors)
        return vbs_no_memory(d->map->ctx);
    for (int k = 1; k <= n_layers; k++) {
        const struct vbs_channels *from = &d->map->tensors[k];
        int *channels;

        if (!from->ids)
            continue;
        channels = vbs_arena_alloc(&w->arena, (size_t)from->n, sizeof *channels);
        if (!channels)
            return vbs_no_memory(d->map->ctx);
        for (int64_t i = 0; i < from->n; i++)
            channels[i] = from->ids[i] == VBS_NO_CHANNEL
                              ? -1
                              : d->channel[vbs_channel_root(d->map, from->ids[i])];
        w->tensors[k] =
            (struct vbs_prune_tensor){.axis = from->axis, .n = from->n, .channels = channels};
    }
    return VBS_OK;
}

/* ---- what groups tell ---- */

/* Gives the group of a filter. */
static int group_of(const struct set_division *d, int layer, int64_t filter)
{
    int channel = d->whole->tensors[layer].channels[filter];
    int low = 0, high = d->whole->head.n_groups - 1;

    while (low < high) {
        int middle = (low + high + 1) / 2;

        if (d->whole->groups[middle].first <= channel)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Finds the runs of filters of one group. members: null, or by group where its next member goes;
 * counts them where it is null. */
static void find_members(struct set_division *d, struct vbs_prune_member **members)
{
    struct vbs_prune_whole *w = d->whole;

    for (int k = 1; k <= d->map->network->n_layers; k++) {
        int64_t n = w->tensors[k].n, end;

        if (!vbs_prune_has_filters(d->map->network, k))
            continue;
        for (int64_t i = 0; i < n; i = end) {
            int g = group_of(d, k, i);

            for (end = i + 1; end < n && group_of(d, k, end) == g;)
                end++;
            if (members)
                *members[g]++ = (struct vbs_prune_member){.layer = k, .first = i, .n = end - i};
            else
                w->groups[g].n_members++;
        }
    }
}

static enum vbs_status take_members(struct set_division *d)
{
    struct vbs_prune_whole *w = d->whole;
    struct vbs_prune_member **next = calloc((size_t)w->head.n_groups + 1, sizeof *next);
    enum vbs_status status = next ? VBS_OK : vbs_no_memory(d->map->ctx);

    if (next)
        find_members(d, NULL);
    for (int g = 0; g < w->head.n_groups && status == VBS_OK; g++) {
        next[g] = vbs_arena_alloc(&w->arena, (size_t)w->groups[g].n_members, sizeof **next);
        w->groups[g].members = next[g];
        if (!next[g])
            status = vbs_no_memory(d->map->ctx);
    }
    if (status == VBS_OK)
        find_members(d, next);
    free(next);
    return status;
}

/* Gives the reason why the sets of a group are fixed, in the arena; null: memory is out. */
static const char *reason_of(struct set_division *d, const struct vbs_channel *root)
{
    char name[160], text[320];

    snprintf(name, sizeof name, "%.150s", d->map->network->layers[root->fixed_by].name);
    switch (root->fixed) {
#define FORMAT(what, format)                                                                       \
    case VBS_FIXED_##what:                                                                         \
        snprintf(text, sizeof text, format, name);                                                 \
        break;
        VBS_FIXED_LIST(FORMAT)
#undef FORMAT
    default:
        text[0] = '\0';
    }
    return vbs_arena_strdup(&d->whole->arena, text);
}

/* Names a group by its first layer; earlier is the number of groups before it of the same layer. */
static const char *name_of(struct set_division *d, int layer, int earlier)
{
    const char *name = d->map->network->layers[layer].name;
    char text[VBS_MAX_NAME + 16];

    if (earlier == 0)
        return vbs_arena_strdup(&d->whole->arena, name);
    snprintf(text, sizeof text, "%s#%d", name, earlier + 1);
    return vbs_arena_strdup(&d->whole->arena, text);
}

static enum vbs_status describe_groups(struct set_division *d)
{
    struct vbs_prune_whole *w = d->whole;
    int earlier = 0;

    for (int g = 0; g < w->head.n_groups; g++) {
        struct vbs_prune_group *group = &w->groups[g];
        int layer = group->members[0].layer;

        /* groups are in the order of their first filters */
        earlier = g > 0 && w->groups[g - 1].members[0].layer == layer ? earlier + 1 : 0;
        group->name = name_of(d, layer, earlier);
        if (!group->name)
            return vbs_no_memory(d->map->ctx);
        for (int m = 0; m < group->n_members && group->members[m].layer == layer; m++)
            group->unit += group->members[m].n;
        group->unit /= group->n_channels;
        if (group->n_channels == 1)
            group->fixed = "its filters could only be removed all together";
    }
    for (int i = 0; i < d->map->n_channels; i++) {
        const struct vbs_channel *c = &d->map->channels[i];
        struct vbs_prune_group *group;

        if (c->parent != i || c->fixed == VBS_FIXED_NOT || d->channel[i] < 0)
            continue;
        group = &w->groups[d->group[d->part[i]]];
        if (group->fixed)
            continue;
        group->fixed = reason_of(d, c);
        if (!group->fixed)
            return vbs_no_memory(d->map->ctx);
    }
    return VBS_OK;
}

static enum vbs_status make_groups(struct set_division *d)
{
    VBS_TRY(divide_all(d));
    VBS_TRY(number_sets(d));
    VBS_TRY(number_tensors(d));
    VBS_TRY(take_members(d));
    VBS_TRY(describe_groups(d));
    return vbs_prune_work(d->map->ctx, d->map->network, d->whole);
}

enum vbs_status vbs_prune_groups(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 struct vbs_prune_groups **groups)
{
    struct vbs_channel_map map = {.ctx = ctx, .network = network};
    struct set_division d = {.map = &map, .whole = calloc(1, sizeof *d.whole)};
    enum vbs_status status = d.whole ? vbs_channels_follow(&map) : vbs_no_memory(ctx);

    if (status == VBS_OK) {
        d.whole->hash = vbs_network_plain_hash(network);
        d.whole->n_layers = network->n_layers;
        status = make_groups(&d);
    }
    free(d.part);
    free(d.count);
    free(d.channel);
    free(d.group);
    free(d.sets);
    vbs_channels_clear(&map);
    if (status == VBS_OK)
        *groups = &d.whole->head;
    else if (d.whole)
        vbs_prune_groups_free(&d.whole->head);
    return status;
}
