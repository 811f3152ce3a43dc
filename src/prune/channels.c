#include "prune/channels.h"

#include "base/fail.h"
#include "base/grow.h"

int vbs_channel_root(struct vbs_channel_map *map, int channel)
{
    struct vbs_channel *c = map->channels;

    while (c[channel].parent != channel) {
        c[channel].parent = c[c[channel].parent].parent;
        channel = c[channel].parent;
    }
    return channel;
}

static void fix(struct vbs_channel_map *map, int channel, enum vbs_channel_fixed why, int by)
{
    struct vbs_channel *root;

    if (channel == VBS_NO_CHANNEL)
        return;
    root = &map->channels[vbs_channel_root(map, channel)];
    if (root->fixed == VBS_FIXED_NOT) {
        root->fixed = (unsigned char)why;
        root->fixed_by = by;
    }
}

/* The channel with the smaller number becomes the root, so that the first filter of every set
 * stands for it. Paths are halved by every search, which keeps trees flat. */
void vbs_channels_join(struct vbs_channel_map *map, int a, int b, int by)
{
    int low, high;

    if (a == VBS_NO_CHANNEL || b == VBS_NO_CHANNEL) {
        fix(map, a, VBS_FIXED_OTHER, by);
        fix(map, b, VBS_FIXED_OTHER, by);
        return;
    }
    a = vbs_channel_root(map, a);
    b = vbs_channel_root(map, b);
    low = a < b ? a : b;
    high = a < b ? b : a;
    if (low == high)
        return;
    map->channels[high].parent = low;
    if (map->channels[high].fixed != VBS_FIXED_NOT)
        fix(map, low, (enum vbs_channel_fixed)map->channels[high].fixed,
            map->channels[high].fixed_by);
}

void vbs_channels_fix(struct vbs_channel_map *map, const struct vbs_channels *channels,
                      enum vbs_channel_fixed why, int by)
{
    for (int64_t i = 0; channels->ids && i < channels->n; i++)
        fix(map, channels->ids[i], why, by);
}

enum vbs_status vbs_channels_new(struct vbs_channel_map *map, int64_t n, int **ids)
{
    int *made;

    if (n > VBS_MAX_CHANNELS - map->n_positions)
        return vbs_fail(map->ctx, VBS_UNSUPPORTED,
                        "the tensors of network '%.100s' have more than %lld channels",
                        map->network->name, (long long)VBS_MAX_CHANNELS);
    map->n_positions += n;
    made = vbs_arena_alloc(&map->arena, (size_t)n, sizeof *made);
    if (!made)
        return vbs_no_memory(map->ctx);
    for (int64_t i = 0; i < n; i++)
        made[i] = VBS_NO_CHANNEL;
    *ids = made;
    return VBS_OK;
}

enum vbs_status vbs_channels_make(struct vbs_channel_map *map, int layer, int64_t n, int *ids)
{
    VBS_TRY(vbs_grow(map->ctx, &map->channels, &map->capacity, map->n_channels + n,
                     sizeof *map->channels));
    for (int64_t i = 0; i < n; i++) {
        int id = (int)map->n_channels++;

        map->channels[id] = (struct vbs_channel){.parent = id, .layer = layer};
        ids[i] = id;
    }
    return VBS_OK;
}
