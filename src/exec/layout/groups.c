/* Finding lines, lives and stacks. */
#include "exec/layout/groups.h"

#include "base/arith.h"
#include "base/fail.h"

/* ---- lines ---- */

static bool stays(const struct vbs_exec_walk *walk, int tensor)
{
    if (walk->schedule->io == VBS_IO_RESIDENT)
        return true;
    return tensor > 0 && walk->is_read[tensor];
}

/* The tensor whose line k writes onto; k: it has its own. */
static int base_tensor(const struct vbs_exec_stacks *stacks, int k)
{
    int input;

    if (!stacks->walk->shares[k])
        return k;
    input = stacks->walk->profile->layers[k].inputs[0];
    return stacks->line_of[input] >= 0 ? input : k;
}

static enum vbs_status add_line(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks, int k)
{
    size_t n = (size_t)stacks->request;
    struct vbs_exec_line *line = &stacks->lines[stacks->n_lines];
    int64_t bytes;

    if (!vbs_mul(stacks->walk->profile->layers[k].out_bytes, stacks->request, &bytes))
        return vbs_fail(ctx, VBS_USAGE,
                        "the request is too large to be executed: all samples of layer %d '%s' "
                        "together have more bytes than can be counted",
                        k, stacks->walk->profile->layers[k].name);
    line->sample_bytes = stacks->walk->profile->layers[k].out_bytes;
    line->is_linked = vbs_arena_alloc(&stacks->arena, n, sizeof *line->is_linked);
    line->lives = vbs_arena_alloc(&stacks->arena, n, sizeof *line->lives);
    line->stack_of = vbs_arena_alloc(&stacks->arena, n, sizeof *line->stack_of);
    if (!line->is_linked || !line->lives || !line->stack_of)
        return vbs_no_memory(ctx);
    stacks->line_of[k] = stacks->n_lines++;
    return VBS_OK;
}

static enum vbs_status make_lines(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks)
{
    size_t n = (size_t)stacks->walk->profile->n_layers + 1;

    stacks->line_of = vbs_arena_alloc(&stacks->arena, n, sizeof *stacks->line_of);
    stacks->lines = vbs_arena_alloc(&stacks->arena, n, sizeof *stacks->lines);
    if (!stacks->line_of || !stacks->lines)
        return vbs_no_memory(ctx);
    for (int k = 0; k < (int)n; k++) {
        int base = base_tensor(stacks, k);

        stacks->line_of[k] = -1;
        if (!stays(stacks->walk, k))
            continue;
        if (base != k) {
            stacks->line_of[k] = stacks->line_of[base];
        } else {
            enum vbs_status status = add_line(ctx, stacks, k);

            if (status != VBS_OK)
                return status;
        }
    }
    return VBS_OK;
}

/* ---- lives and links ---- */

static void touch(struct vbs_exec_line *line, int first, int batch, int64_t death)
{
    for (int i = first; i < first + batch; i++) {
        line->lives[i].death = (int)death;
        line->is_linked[i] |= i > first;
    }
}

static void write_samples(struct vbs_exec_stacks *stacks, int64_t s)
{
    const struct vbs_step *step = &stacks->walk->schedule->steps[s];
    int64_t end = 2 * stacks->walk->schedule->n_steps + 2;
    int first = stacks->walk->steps[s].first, line = stacks->line_of[step->layer];
    bool is_read = stacks->walk->is_read[step->layer];

    if (line < 0)
        return;
    for (int i = first; i < first + step->batch; i++)
        if (stacks->lines[line].lives[i].death == 0) /* not by another part, or tensor, before */
            stacks->lines[line].lives[i].birth = 2 * (int)s + 1;
    touch(&stacks->lines[line], first, step->batch, is_read ? 2 * s + 2 : end);
}

static void read_samples(struct vbs_exec_stacks *stacks, int64_t s)
{
    const struct vbs_step *step = &stacks->walk->schedule->steps[s];
    const struct vbs_profile_layer *layer = &stacks->walk->profile->layers[step->layer];

    for (int n = 0; n < layer->n_inputs; n++) {
        int line = stacks->line_of[layer->inputs[n]];

        if (line >= 0)
            touch(&stacks->lines[line], stacks->walk->steps[s].first, step->batch, 2 * s + 2);
    }
}

/* ---- stacks ---- */

static enum vbs_status find_stacks(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            stacks->stacks = vbs_arena_alloc(&stacks->arena, n, sizeof *stacks->stacks);
        if (pass == 1 && !stacks->stacks)
            return vbs_no_memory(ctx);
        n = 0;
        for (int l = 0; l < stacks->n_lines; l++)
            for (int i = 0; i < stacks->request; i++) {
                n += !stacks->lines[l].is_linked[i];
                stacks->lines[l].stack_of[i] = (int)n - 1;
                if (pass == 0)
                    continue;
                if (!stacks->lines[l].is_linked[i])
                    stacks->stacks[n - 1] = (struct vbs_exec_stack){.line = l, .first = i};
                stacks->stacks[n - 1].end = i + 1;
            }
    }
    stacks->n_stacks = (int)n;
    return VBS_OK;
}

enum vbs_status vbs_exec_stacks_init(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks,
                                     const struct vbs_exec_walk *walk)
{
    const struct vbs_schedule *schedule = walk->schedule;
    enum vbs_status status;

    *stacks = (struct vbs_exec_stacks){.walk = walk, .request = (int)schedule->request};
    status = make_lines(ctx, stacks);
    if (status != VBS_OK)
        return status;
    if (stacks->line_of[0] >= 0) /* there from the start: their births stay 0 */
        for (int i = 0; i < stacks->request; i++)
            stacks->lines[stacks->line_of[0]].lives[i].death = 2;
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (walk->steps[s].kernel >= 0) {
            read_samples(stacks, s);
            write_samples(stacks, s);
        }
    return find_stacks(ctx, stacks);
}

void vbs_exec_stacks_clear(struct vbs_exec_stacks *stacks)
{
    vbs_arena_clear(&stacks->arena);
    *stacks = (struct vbs_exec_stacks){0};
}

int vbs_exec_stack_of(const struct vbs_exec_stacks *stacks, int tensor, int sample)
{
    return stacks->lines[stacks->line_of[tensor]].stack_of[sample];
}
