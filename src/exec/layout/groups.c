/* The lines of tensors, the lifetimes of their samples, and rigid groups. */
#include "exec/layout/groups.h"

#include "base/arith.h"
#include "base/fail.h"

/* ---- lines ---- */

static bool stays(const struct vbs_exec_checked *checked, int tensor)
{
    if (checked->schedule->io == VBS_IO_RESIDENT)
        return true;
    return tensor > 0 && checked->is_read[tensor];
}

/* Gives the tensor onto whose line layer k writes; k where it has its own line. */
static int base_tensor(const struct vbs_exec_groups *groups, int k)
{
    int input;

    if (!groups->checked->shares[k])
        return k;
    input = groups->checked->profile->layers[k].inputs[0];
    return groups->line_of[input] >= 0 ? input : k;
}

static enum vbs_status add_line(struct vbs_ctx *ctx, struct vbs_exec_groups *groups, int k)
{
    size_t n = (size_t)groups->request;
    struct vbs_exec_line *line = &groups->lines[groups->n_lines];
    int64_t bytes;

    if (!vbs_mul(groups->checked->profile->layers[k].out_bytes, groups->request, &bytes))
        return vbs_fail(ctx, VBS_USAGE,
                        "the request is too large to be executed: all samples of layer %d '%s' "
                        "together have more bytes than can be counted",
                        k, groups->checked->profile->layers[k].name);
    line->sample_bytes = groups->checked->profile->layers[k].out_bytes;
    line->is_linked = vbs_arena_alloc(&groups->arena, n, sizeof *line->is_linked);
    line->lives = vbs_arena_alloc(&groups->arena, n, sizeof *line->lives);
    line->group_of = vbs_arena_alloc(&groups->arena, n, sizeof *line->group_of);
    if (groups->checked->has_rings[k])
        line->ring_bytes = vbs_arena_alloc(&groups->arena, n, sizeof *line->ring_bytes);
    if (!line->is_linked || !line->lives || !line->group_of ||
        (groups->checked->has_rings[k] && !line->ring_bytes))
        return vbs_no_memory(ctx);
    groups->line_of[k] = groups->n_lines++;
    return VBS_OK;
}

static enum vbs_status make_lines(struct vbs_ctx *ctx, struct vbs_exec_groups *groups)
{
    size_t n = (size_t)groups->checked->profile->n_layers + 1;

    groups->line_of = vbs_arena_alloc(&groups->arena, n, sizeof *groups->line_of);
    groups->lines = vbs_arena_alloc(&groups->arena, n, sizeof *groups->lines);
    if (!groups->line_of || !groups->lines)
        return vbs_no_memory(ctx);
    for (int k = 0; k < (int)n; k++) {
        int base = base_tensor(groups, k);

        groups->line_of[k] = -1;
        if (!stays(groups->checked, k))
            continue;
        if (base != k) {
            groups->line_of[k] = groups->line_of[base];
        } else {
            VBS_TRY(add_line(ctx, groups, k));
        }
    }
    return VBS_OK;
}

/* ---- lives and links ---- */

static int64_t ring_bytes(const struct vbs_exec_line *line, int i)
{
    return line->ring_bytes ? line->ring_bytes[i] : 0;
}

/* linked: a kernel reads or writes the samples at once. Kernels on rows take one sample at a time.
 */
static void touch(struct vbs_exec_line *line, int first, int batch, int64_t death, bool linked)
{
    for (int i = first; i < first + batch; i++) {
        line->lives[i].death = (int)death;
        line->is_linked[i] |= linked && i > first;
    }
}

static void write_samples(struct vbs_exec_groups *groups, int64_t s)
{
    const struct vbs_step *step = &groups->checked->schedule->steps[s];
    int64_t end = 2 * groups->checked->schedule->n_steps + 2;
    int first = groups->checked->steps[s].first, line = groups->line_of[step->layer];
    bool is_read = groups->checked->is_read[step->layer];

    if (line < 0)
        return;
    for (int i = first; i < first + step->batch; i++) {
        if (groups->lines[line].lives[i].death == 0) /* neither another slice, nor other rows, nor
                                                        another tensor were written before */
            groups->lines[line].lives[i].birth = 2 * (int)s + 1;
        if (groups->lines[line].ring_bytes)
            groups->lines[line].ring_bytes[i] = vbs_exec_ring_bytes(groups->checked->profile, step);
    }
    touch(&groups->lines[line], first, step->batch, is_read ? 2 * s + 2 : end,
          !vbs_exec_is_stripe(groups->checked->profile, step));
}

/* Refuses a step that reads windows of fewer rows with the kernel of whole samples. It keeps the
 * rules where the layer needs none of the first rows of its input. */
static enum vbs_status refuse_whole(struct vbs_ctx *ctx, const struct vbs_exec_groups *groups,
                                    int64_t s)
{
    const struct vbs_step *step = &groups->checked->schedule->steps[s];

    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "step %lld: layer %d '%s' computes all its rows at once, and cannot read them "
                    "from a window of fewer rows",
                    (long long)s + 1, step->layer,
                    groups->checked->profile->layers[step->layer].name);
}

static enum vbs_status read_samples(struct vbs_ctx *ctx, struct vbs_exec_groups *groups, int64_t s)
{
    const struct vbs_step *step = &groups->checked->schedule->steps[s];
    const struct vbs_profile_layer *layer = &groups->checked->profile->layers[step->layer];
    bool is_stripe = vbs_exec_is_stripe(groups->checked->profile, step);
    int first = groups->checked->steps[s].first;

    for (int n = 0; n < layer->n_inputs; n++) {
        int line = groups->line_of[layer->inputs[n]];

        if (line < 0)
            continue;
        for (int i = first; i < first + step->batch && !is_stripe; i++)
            if (ring_bytes(&groups->lines[line], i) > 0)
                return refuse_whole(ctx, groups, s);
        touch(&groups->lines[line], first, step->batch, 2 * s + 2, !is_stripe);
    }
    return VBS_OK;
}

/* ---- groups ---- */

static enum vbs_status find_groups(struct vbs_ctx *ctx, struct vbs_exec_groups *groups)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            groups->groups = vbs_arena_alloc(&groups->arena, n, sizeof *groups->groups);
        if (pass == 1 && !groups->groups)
            return vbs_no_memory(ctx);
        n = 0;
        for (int l = 0; l < groups->n_lines; l++)
            for (int i = 0; i < groups->request; i++) {
                n += !groups->lines[l].is_linked[i];
                groups->lines[l].group_of[i] = (int)n - 1;
                if (pass == 0)
                    continue;
                if (!groups->lines[l].is_linked[i])
                    groups->groups[n - 1] = (struct vbs_exec_group){.line = l, .first = i};
                groups->groups[n - 1].end = i + 1;
            }
    }
    groups->n_groups = (int)n;
    return VBS_OK;
}

enum vbs_status vbs_exec_groups_init(struct vbs_ctx *ctx, struct vbs_exec_groups *groups,
                                     const struct vbs_exec_checked *checked)
{
    const struct vbs_schedule *schedule = checked->schedule;

    *groups = (struct vbs_exec_groups){.checked = checked, .request = (int)schedule->request};
    VBS_TRY(make_lines(ctx, groups));
    if (groups->line_of[0] >= 0) /* the input is there from the start: its births stay 0 */
        for (int i = 0; i < groups->request; i++)
            groups->lines[groups->line_of[0]].lives[i].death = 2;
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (checked->steps[s].kernel >= 0) {
            VBS_TRY(read_samples(ctx, groups, s));
            write_samples(groups, s);
        }
    return find_groups(ctx, groups);
}

void vbs_exec_groups_clear(struct vbs_exec_groups *groups)
{
    vbs_arena_clear(&groups->arena);
    *groups = (struct vbs_exec_groups){0};
}

int vbs_exec_group_of(const struct vbs_exec_groups *groups, int tensor, int sample)
{
    return groups->lines[groups->line_of[tensor]].group_of[sample];
}

int64_t vbs_exec_place_bytes(const struct vbs_exec_groups *groups, int group, bool *is_ring)
{
    const struct vbs_exec_line *line = &groups->lines[groups->groups[group].line];
    int64_t bytes = ring_bytes(line, groups->groups[group].first);

    *is_ring = bytes > 0;
    return bytes > 0 ? bytes : line->sample_bytes;
}
