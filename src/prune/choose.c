/* Groups by their names, patterns and labels. */
#include "vbslab/prune.h"

#include "base/fail.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define ALL "all"

/* Table 2 of TUNE (Fay-Hunt, 2021) names weights of PyTorch: module.layerS.B.conv1 is the first
 * convolution of block B + 1 of stage S. It leaves out the blocks that are sensitive: 0, 5 and 8 of
 * stage 2, 0 and 4 of stage 3. */
static const struct vbs_prune_label TUNE_RESNET_56[] = {
    {"filter_pruner_layer_1",
     "stage1/block1/conv1,stage1/block2/conv1,stage1/block3/conv1,stage1/block4/conv1,"
     "stage1/block5/conv1,stage1/block6/conv1,stage1/block7/conv1,stage1/block8/conv1,"
     "stage1/block9/conv1"},
    {"filter_pruner_layer_2",
     "stage2/block2/conv1,stage2/block3/conv1,stage2/block4/conv1,stage2/block5/conv1,"
     "stage2/block7/conv1,stage2/block8/conv1"},
    {"filter_pruner_layer_3.1", "stage3/block2/conv1"},
    {"filter_pruner_layer_3.2",
     "stage3/block3/conv1,stage3/block4/conv1,stage3/block6/conv1,stage3/block7/conv1,"
     "stage3/block8/conv1,stage3/block9/conv1"},
};

static const struct vbs_prune_preset PRESETS[] = {
    {"tune-resnet-56",
     "the first convolutions of 22 residual blocks, in four labels (TUNE, Table 2)",
     (int)(sizeof TUNE_RESNET_56 / sizeof *TUNE_RESNET_56), TUNE_RESNET_56},
};

const struct vbs_prune_preset *vbs_prune_preset_at(int index)
{
    return index >= 0 && index < (int)(sizeof PRESETS / sizeof *PRESETS) ? &PRESETS[index] : NULL;
}

/* A choice that is being made. */
struct selection {
    struct vbs_ctx *ctx;
    const struct vbs_prune_groups *groups;
    const struct vbs_prune_preset *preset; /* or null */
    const char *pattern;                   /* as the caller gave it, for messages */
    bool *chosen;
    int n_chosen;
    const struct vbs_prune_group *fixed; /* one that was passed over */
};

static enum vbs_status find_preset(struct vbs_ctx *ctx, const char *name,
                                   const struct vbs_prune_preset **preset)
{
    const char *names[sizeof PRESETS / sizeof *PRESETS];
    const char *nearest;
    int n = 0;

    *preset = NULL;
    if (!name)
        return VBS_OK;
    for (; vbs_prune_preset_at(n); n++) {
        names[n] = PRESETS[n].name;
        if (strcmp(name, names[n]) == 0) {
            *preset = &PRESETS[n];
            return VBS_OK;
        }
    }
    nearest = vbs_nearest_name(name, names, n);
    return vbs_fail(ctx, VBS_NOT_FOUND, "no preset '%.100s'; there is %s", name,
                    nearest ? nearest : names[0]);
}

/* Chooses the groups whose names match; gives how many there are, fixed ones included. */
static int match(struct selection *c, const char *pattern)
{
    int n = 0;

    for (int g = 0; g < c->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &c->groups->groups[g];

        if (strcmp(pattern, group->name) != 0 && fnmatch(pattern, group->name, 0) != 0)
            continue;
        n++;
        if (group->fixed) {
            c->fixed = group;
            continue;
        }
        c->chosen[g] = true;
        c->n_chosen++;
    }
    return n;
}

/* Names what could have been meant. */
static enum vbs_status refuse(const struct selection *c, const char *pattern)
{
    int n_groups = c->groups->n_groups, n = 0;
    int n_labels = c->preset ? c->preset->n_labels : 0;
    const char **names = malloc((size_t)(n_groups + n_labels + 1) * sizeof *names), *nearest;
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(c->ctx);
    for (int i = 0; i < n_labels; i++)
        names[n++] = c->preset->labels[i].name;
    for (int g = 0; g < n_groups; g++)
        names[n++] = c->groups->groups[g].name;
    nearest = vbs_nearest_name(pattern, names, n);
    if (nearest)
        status = vbs_fail(c->ctx, VBS_NOT_FOUND, "no group '%.100s'; did you mean '%.100s'?",
                          pattern, nearest);
    else
        status = vbs_fail(c->ctx, VBS_NOT_FOUND, "no group '%.100s'", pattern);
    free(names);
    return status;
}

/* Chooses the groups of a label. */
static enum vbs_status take_label(struct selection *c, const struct vbs_prune_label *label)
{
    char *names = strdup(label->groups), *at = NULL;
    enum vbs_status status = names ? VBS_OK : vbs_no_memory(c->ctx);

    for (char *name = names ? strtok_r(names, ",", &at) : NULL; name && status == VBS_OK;
         name = strtok_r(NULL, ",", &at))
        if (match(c, name) == 0)
            status = vbs_fail(c->ctx, VBS_NOT_FOUND,
                              "the network has no group '%.60s' of the preset '%.60s'", name,
                              c->preset->name);
    free(names);
    return status;
}

static enum vbs_status choose(struct selection *c)
{
    bool all = strcmp(c->pattern, ALL) == 0;
    int n = 0;

    for (int i = 0; c->preset && i < c->preset->n_labels; i++) {
        const struct vbs_prune_label *label = &c->preset->labels[i];

        if (!all && strcmp(c->pattern, label->name) != 0 &&
            fnmatch(c->pattern, label->name, 0) != 0)
            continue;
        VBS_TRY(take_label(c, label));
        n++;
    }
    if (n == 0)
        n = match(c, all ? "*" : c->pattern);
    if (n == 0)
        return refuse(c, c->pattern);
    if (c->n_chosen == 0)
        return vbs_fail(c->ctx, VBS_USAGE, "group '%.100s' cannot be pruned: %s", c->fixed->name,
                        c->fixed->fixed);
    return VBS_OK;
}

int64_t vbs_prune_block(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return 16;
#endif
    return 8;
}

enum vbs_status vbs_prune_choose(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                 const char *preset, const char *pattern, bool *chosen)
{
    struct selection c = {.ctx = ctx, .groups = groups, .pattern = pattern};
    enum vbs_status status;

    VBS_TRY(find_preset(ctx, preset, &c.preset));
    c.chosen = calloc((size_t)groups->n_groups + 1, sizeof *c.chosen);
    if (!c.chosen)
        return vbs_no_memory(ctx);
    status = choose(&c);
    for (int g = 0; g < groups->n_groups && status == VBS_OK; g++)
        chosen[g] = chosen[g] || c.chosen[g];
    free(c.chosen);
    return status;
}
