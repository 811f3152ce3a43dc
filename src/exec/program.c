#include "exec/program.h"

#include "base/fail.h"
#include "base/grow.h"
#include "profile/reach.h"

#include <stdlib.h>
#include <string.h>

struct programming {
    struct vbs_ctx *ctx;
    struct vbs_exec_program *out;
    const struct vbs_exec_fit *fit;
    const struct vbs_exec_checked *checked;
    const struct vbs_profile_layer *layers;
    const struct vbs_network *network;
    struct vbs_exec_arena *arena;
    bool *divides;          /* [n_layers + 1] some step runs a slice of the layer, or accumulates */
    int move;               /* index of the next move */
    int waited;             /* loads for which earlier steps have waited */
    enum vbs_status status; /* of all that was added so far */
};

/* Keeps the first failure; the context has its reason. */
static void note(struct programming *p, enum vbs_status status)
{
    if (p->status == VBS_OK)
        p->status = status;
}

static void add_op(struct programming *p, const struct vbs_exec_op *op)
{
    struct vbs_exec_program *out = p->out;

    if (p->status == VBS_OK)
        note(p, vbs_grow(p->ctx, &out->ops, &out->max_ops, out->n_ops + 1, sizeof *out->ops));
    if (p->status == VBS_OK)
        out->ops[out->n_ops++] = *op;
}

static void add_copy(struct programming *p, enum vbs_exec_op_kind kind, void *to, const void *from,
                     int64_t bytes)
{
    add_op(p, &(struct vbs_exec_op){.kind = (uint8_t)kind, .copy = {to, from, bytes}});
}

/* ---- where things are ---- */

/* Gives the address of an item's offset 0 when step s runs. */
static char *item_address(const struct programming *p, int64_t s, int item)
{
    return p->arena->base + vbs_exec_layout_find(&p->fit->layout, item, s)->base;
}

/* Gives the address of a sample of a tensor with a line in step s. */
static char *sample_address(const struct programming *p, int64_t s, int tensor, int sample)
{
    const struct vbs_exec_groups *groups = &p->fit->groups;
    int group = vbs_exec_group_of(groups, tensor, sample);
    const struct vbs_exec_group *at = &groups->groups[group];

    return item_address(p, s, group) + (sample - at->first) * groups->lines[at->line].sample_bytes;
}

/* Gives the address of a sample's rows from row on, in a tensor with a line. */
static char *row_address(struct programming *p, int64_t s, int tensor, int sample, int64_t row)
{
    int group = vbs_exec_group_of(&p->fit->groups, tensor, sample);
    bool is_ring;
    int64_t bytes = vbs_exec_place_bytes(&p->fit->groups, group, &is_ring);
    int64_t at = row * vbs_exec_row_bytes(p->checked->profile, tensor);
    char *ring = NULL;

    if (!is_ring)
        return sample_address(p, s, tensor, sample) + at;
    if (p->status == VBS_OK)
        note(p, vbs_exec_arena_ring(p->ctx, p->arena, item_address(p, s, group) - p->arena->base,
                                    bytes, &ring));
    return ring ? ring + at % bytes : NULL;
}

static const struct vbs_exec_block_step *block_step(const struct programming *p, int64_t s)
{
    return &p->fit->blocks.steps[s];
}

/* Gives the address of the weights that a step reads or loads, when step s runs. */
static char *weights_address(const struct programming *p, int64_t s,
                             const struct vbs_exec_block_step *step)
{
    const struct vbs_exec_blocks *blocks = &p->fit->blocks;
    int item = blocks->item_of[step->load];

    return item_address(p, s, p->fit->buffers.first_block_item + item) +
           (step->at - blocks->items[item].origin);
}

/* ---- steps ---- */

/* Adds a wait for loads, unless an earlier step has waited for them. */
static void add_wait(struct programming *p, enum vbs_exec_op_kind kind, int n_loads)
{
    if (n_loads <= p->waited)
        return;
    p->waited = n_loads;
    add_op(p, &(struct vbs_exec_op){.kind = (uint8_t)kind, .wait = {n_loads}});
}

static void add_moves(struct programming *p, int64_t s)
{
    const struct vbs_exec_moves *moves = &p->fit->layout.moves;

    for (; p->move < moves->n && moves->moves[p->move].step == s; p->move++) {
        const struct vbs_exec_move *move = &moves->moves[p->move];

        add_wait(p, VBS_DO_WAIT_TO_RELOCATE, move->waits);
        add_copy(p, VBS_DO_RELOCATE, p->arena->base + move->to, p->arena->base + move->from,
                 move->bytes);
    }
}

static void add_input(struct programming *p, int first, int n, void *to)
{
    add_op(p, &(struct vbs_exec_op){.kind = VBS_DO_READ_INPUT,
                                    .input = {.first = first, .n = n, .to = to}});
}

/* Adds operations that write samples of a layer to every output of the network that this layer
 * is. */
static void add_output(struct programming *p, int layer, int first, int n, const void *from)
{
    for (int i = 0; i < p->out->n_outputs; i++)
        if (p->out->output_layers[i] == layer)
            add_op(p, &(struct vbs_exec_op){
                          .kind = VBS_DO_WRITE_OUTPUT,
                          .output = {.output = i, .first = first, .n = n, .from = from}});
}

/* Gives the address to which a step writes. */
static char *output_address(const struct programming *p, int64_t s)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    const struct vbs_exec_groups *groups = &p->fit->groups;
    int first = p->checked->steps[s].first;

    if (groups->line_of[step->layer] >= 0)
        return sample_address(p, s, step->layer, first);
    if (p->fit->buffers.own[s].out >= 0)
        return item_address(p, s, p->fit->buffers.own[s].out);
    return sample_address(p, s, p->layers[step->layer].inputs[0], first);
}

/* Sets the step's sources. Adds operations that read the network's input from outside the arena,
 * and that copy the input of a layer in place to its output. */
static void add_sources(struct programming *p, int64_t s, char *to)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    const struct vbs_profile_layer *layer = &p->layers[step->layer];
    const void **sources = p->out->sources + p->out->n_sources;
    int first = p->checked->steps[s].first, in = p->fit->buffers.own[s].in;

    p->out->n_sources += layer->n_inputs;
    for (int i = 0; i < layer->n_inputs; i++)
        if (p->fit->groups.line_of[layer->inputs[i]] >= 0)
            sources[i] = sample_address(p, s, layer->inputs[i], first);
        else
            sources[i] = in >= 0 ? item_address(p, s, in) : to;
    for (int i = 0; i < layer->n_inputs; i++)
        if (p->fit->groups.line_of[layer->inputs[i]] < 0) {
            add_input(p, first, step->batch, in >= 0 ? item_address(p, s, in) : to);
            break;
        }
    if (layer->in_place && sources[0] != to) {
        add_copy(p, VBS_DO_COPY_IN_PLACE, to, sources[0], step->batch * layer->out_bytes);
        sources[0] = to;
    }
}

static struct vbs_exec_outside *find_outside(struct programming *p, int layer)
{
    struct vbs_exec_program *out = p->out;
    int64_t bytes = p->layers[layer].out_bytes * p->checked->schedule->request;
    struct vbs_session *session = p->arena->session;

    for (int i = 0; i < out->n_outside; i++)
        if (out->outside[i].layer == layer)
            return &out->outside[i];
    out->outside[out->n_outside] = (struct vbs_exec_outside){
        .layer = layer,
        .samples = session ? session->ops->alloc(session, bytes) : calloc((size_t)bytes + 1, 1),
        .session = session};
    if (!out->outside[out->n_outside].samples) {
        note(p, vbs_no_memory(p->ctx));
        return NULL;
    }
    return &out->outside[out->n_outside++];
}

static void add_kernel(struct programming *p, int64_t s, char *to, const void *const *sources)
{
    const struct vbs_exec_checked_step *noted = &p->checked->steps[s];
    int ws = p->fit->buffers.own[s].ws;
    const void *weights = NULL;

    if (noted->packed >= 0) {
        const struct vbs_step *step = &p->checked->schedule->steps[s];
        struct vbs_exec_range range =
            vbs_exec_slice_range(&p->checked->packed[noted->packed], step->slice, step->n_slices);

        if (range.packed_from < range.packed_to)
            weights = weights_address(p, s, block_step(p, s));
    }
    add_op(p, &(struct vbs_exec_op){.kind = VBS_DO_COMPUTE,
                                    .compute = {.kernel = noted->kernel,
                                                .to = to,
                                                .sources = sources,
                                                .ws = ws >= 0 ? item_address(p, s, ws) : NULL,
                                                .weights = weights}});
}

static void add_compute(struct programming *p, int64_t s)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    const struct vbs_exec_checked_step *noted = &p->checked->steps[s];
    const void *const *src = p->out->sources + p->out->n_sources;
    bool stays = p->fit->groups.line_of[step->layer] >= 0;
    int64_t sample_bytes = p->layers[step->layer].out_bytes;
    struct vbs_exec_outside *outside = NULL;
    char *to = output_address(p, s);

    add_sources(p, s, to);
    if (!stays && p->divides[step->layer]) {
        outside = find_outside(p, step->layer);
        if (!outside)
            return;
    }
    if (outside && noted->again)
        add_copy(p, VBS_DO_RESTORE, to, outside->samples + noted->first * sample_bytes,
                 step->batch * sample_bytes);
    add_kernel(p, s, to, src);
    if (outside)
        add_copy(p, VBS_DO_SAVE, outside->samples + noted->first * sample_bytes, to,
                 step->batch * sample_bytes);
    else if (p->checked->schedule->io == VBS_IO_EXTERNAL)
        add_output(p, step->layer, noted->first, step->batch, to);
}

/* ---- steps that compute some rows ---- */

/* Adds the operation that reads the rows of a sample of the network's input from outside the arena,
 * and gives their address; rows: those that the step reads. */
static char *fetch_rows(struct programming *p, int64_t s, int sample,
                        const struct vbs_exec_rows *rows)
{
    int in = p->fit->buffers.own[s].in, first = p->checked->steps[s].first;
    char *to;

    if (in < 0) /* it reads none of them */
        return p->arena->base;
    to = item_address(p, s, in) +
         (sample - first) * vbs_exec_rows_bytes(p->checked->profile, 0, rows);
    if (rows->end == 0) /* the input has no rows, and is read whole */
        add_input(p, sample, 1, to);
    else
        add_op(p, &(struct vbs_exec_op){.kind = VBS_DO_READ_INPUT,
                                        .input = {.first = sample,
                                                  .n = 1,
                                                  .row = (int)rows->first,
                                                  .rows = (int)(rows->end - rows->first),
                                                  .to = to}});
    return to;
}

/* Sets the sources of a step for one of its samples. */
static void add_row_sources(struct programming *p, int64_t s, int sample)
{
    const struct vbs_profile *profile = p->checked->profile;
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    const struct vbs_profile_layer *layer = &p->layers[step->layer];
    const void **sources = p->out->sources + p->out->n_sources;
    struct vbs_exec_rows outside = {0};
    char *fetched = NULL;

    p->out->n_sources += layer->n_inputs;
    for (int i = 0; i < layer->n_inputs; i++) {
        const struct vbs_exec_rows rows =
            vbs_exec_rows_read(profile, step->layer, i, step->row, step->rows);

        if (p->fit->groups.line_of[layer->inputs[i]] >= 0) {
            sources[i] = row_address(p, s, layer->inputs[i], sample, rows.first);
            continue;
        }
        if (!fetched) {
            outside = vbs_exec_input_rows(profile, step);
            fetched = fetch_rows(p, s, sample, &outside);
        }
        sources[i] = fetched + (rows.first - outside.first) * vbs_exec_row_bytes(profile, 0);
    }
}

/* Gives the address outside the arena of the rows of a sample that a step writes; null: it has no
 * memory, and p->status says so. */
static char *outside_address(struct programming *p, int64_t s, int sample)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    struct vbs_exec_outside *outside = find_outside(p, step->layer);

    if (!outside)
        return NULL;
    return outside->samples + sample * p->layers[step->layer].out_bytes +
           step->row * vbs_exec_row_bytes(p->checked->profile, step->layer);
}

/* Brings back what a layer that accumulates has added up so far, where it leaves the arena with
 * each step. */
static void restore_sum(struct programming *p, int64_t s, int sample, char *to)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    char *outside;

    if (step->row == 0 || p->fit->groups.line_of[step->layer] >= 0 ||
        !vbs_layer_accumulates(&p->checked->profile->layers[step->layer]))
        return;
    outside = outside_address(p, s, sample);
    if (outside)
        add_copy(p, VBS_DO_RESTORE, to, outside, p->layers[step->layer].out_bytes);
}

/* Adds the operations that bring the rows of a sample of a final output, which are at from, out of
 * the arena. */
static void add_row_outputs(struct programming *p, int64_t s, int sample, char *from)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    const struct vbs_profile_layer *layer = &p->checked->profile->layers[step->layer];
    bool stays = p->fit->groups.line_of[step->layer] >= 0;
    bool accumulates = vbs_layer_accumulates(layer);

    if (!stays && p->divides[step->layer]) {
        char *outside = outside_address(p, s, sample);

        if (outside)
            add_copy(p, VBS_DO_SAVE, outside, from, vbs_layer_rows_bytes(layer, step->rows));
        return;
    }
    if (accumulates && step->row + step->rows < layer->rows)
        return;
    for (int i = 0; i < p->out->n_outputs; i++)
        if (p->out->output_layers[i] == step->layer && (!stays || p->checked->is_read[step->layer]))
            add_op(p, &(struct vbs_exec_op){.kind = VBS_DO_WRITE_OUTPUT,
                                            .output = {.output = i,
                                                       .first = sample,
                                                       .n = 1,
                                                       .row = accumulates ? 0 : step->row,
                                                       .rows = accumulates ? 0 : step->rows,
                                                       .from = from}});
}

/* Adds a step that computes some rows, sample by sample. */
static void add_stripe(struct programming *p, int64_t s)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];
    int64_t bytes = vbs_layer_rows_bytes(&p->checked->profile->layers[step->layer], step->rows);
    int first = p->checked->steps[s].first;

    for (int i = first; i < first + step->batch; i++) {
        const void *const *sources = p->out->sources + p->out->n_sources;
        char *to = p->fit->groups.line_of[step->layer] >= 0
                       ? row_address(p, s, step->layer, i, step->row)
                       : item_address(p, s, p->fit->buffers.own[s].out) + (i - first) * bytes;

        add_row_sources(p, s, i);
        restore_sum(p, s, i, to);
        add_kernel(p, s, to, sources);
        add_row_outputs(p, s, i, to);
    }
}

/* ---- before and after ---- */

/* Adds operations for all samples of a tensor that is in the arena as a whole at step s, one for
 * each run of samples side by side. */
static void add_all(struct programming *p, int64_t s, int tensor)
{
    const struct vbs_exec_groups *groups = &p->fit->groups;

    for (int i = 0, end; i < groups->request; i = end) {
        end = groups->groups[vbs_exec_group_of(groups, tensor, i)].end;
        if (tensor == 0)
            add_input(p, i, end - i, sample_address(p, s, 0, i));
        else
            add_output(p, tensor, i, end - i, sample_address(p, s, tensor, i));
    }
}

static bool is_listed_before(const struct vbs_exec_program *out, int i)
{
    for (int j = 0; j < i; j++)
        if (out->output_layers[j] == out->output_layers[i])
            return true;
    return false;
}

/* Adds the outputs that are in the arena as a whole at the end. An output that other layers read
 * has been freed or overwritten by then, so it is written by the step that computes it. */
static void add_after(struct programming *p)
{
    for (int i = 0; i < p->out->n_outputs; i++)
        if (!is_listed_before(p->out, i) && !p->checked->is_read[p->out->output_layers[i]])
            add_all(p, p->checked->schedule->n_steps, p->out->output_layers[i]);
}

static void add_resident_reader_outputs(struct programming *p, int64_t s)
{
    const struct vbs_step *step = &p->checked->schedule->steps[s];

    if (p->checked->schedule->io == VBS_IO_RESIDENT && p->checked->is_read[step->layer])
        add_output(p, step->layer, p->checked->steps[s].first, step->batch, output_address(p, s));
}

/* Adds the outputs that were kept outside the arena until all their slices were computed. */
static void add_outside(struct programming *p)
{
    for (int i = 0; i < p->out->n_outside; i++)
        add_output(p, p->out->outside[i].layer, 0, p->fit->groups.request,
                   p->out->outside[i].samples);
}

/* ---- loads ---- */

/* Gives whether buffers are relocated before a step; loads that begin before it have to wait for
 * this. */
static bool has_moves(const struct programming *p, int64_t step)
{
    const struct vbs_exec_op *ops = p->out->ops;

    for (int i = p->out->begin[step + 1]; i < p->out->begin[step + 2]; i++)
        if (ops[i].kind == VBS_DO_RELOCATE)
            return true;
    return false;
}

static void list_loads(struct programming *p, const struct vbs_exec_file *file, bool marks)
{
    const struct vbs_schedule *schedule = p->checked->schedule;
    struct vbs_exec_program *out = p->out;
    int n = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        const struct vbs_exec_packed *packed;
        struct vbs_exec_range range;
        struct vbs_exec_load load;
        int64_t begin;

        if (step->op != VBS_STEP_LOAD)
            continue;
        begin = p->fit->begins[n++];
        packed = &p->checked->packed[p->checked->steps[s].packed];
        range = vbs_exec_slice_range(packed, step->slice, step->n_slices);
        load = (struct vbs_exec_load){.step = s,
                                      .after = 2 * begin + (marks || has_moves(p, begin)),
                                      .offset = file->offsets[p->checked->steps[s].packed] +
                                                range.packed_from,
                                      .bytes = range.packed_to - range.packed_from,
                                      .to = weights_address(p, begin, block_step(p, s))};
        if (step->resident)
            out->residents[out->n_residents++] = load;
        else
            out->loads[out->n_loads++] = load;
    }
}

/* ---- the whole ---- */

/* Finds the layers of the outputs by their names, because a backend that leaves some layers out has
 * other numbers. */
static enum vbs_status find_outputs(struct programming *p)
{
    const struct vbs_network *network = p->network;
    int n_layers = p->checked->profile->n_layers;

    p->out->n_outputs = network->n_outputs;
    for (int i = 0; i < network->n_outputs; i++) {
        int layer = network->outputs[i].layer, found = 0;
        const char *name = network->layers[layer].name;

        if (layer <= n_layers && strcmp(p->layers[layer].name, name) == 0)
            found = layer;
        for (int k = 1; k <= n_layers && !found; k++)
            if (strcmp(p->layers[k].name, name) == 0)
                found = k;
        if (!found)
            return vbs_fail(p->ctx, VBS_UNSUPPORTED,
                            "the profile has no layer '%s', which makes an output of the network",
                            name);
        p->out->output_layers[i] = found;
    }
    return VBS_OK;
}

static enum vbs_status begin_program(struct programming *p)
{
    const struct vbs_schedule *schedule = p->checked->schedule;
    struct vbs_exec_program *out = p->out;
    size_t n_layers = (size_t)p->checked->profile->n_layers + 1, n_sources = 0;
    size_t n_loads = (size_t)p->fit->blocks.n_loads;

    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];
        size_t n_times = vbs_exec_is_stripe(p->checked->profile, step) ? (size_t)step->batch : 1;

        if (p->checked->steps[s].kernel >= 0)
            n_sources += n_times * (size_t)p->layers[step->layer].n_inputs;
    }
    p->divides = vbs_arena_alloc(&out->arena, n_layers, sizeof *p->divides);
    out->begin = vbs_arena_alloc(&out->arena, (size_t)schedule->n_steps + 4, sizeof *out->begin);
    out->sources = vbs_arena_alloc(&out->arena, n_sources, sizeof *out->sources);
    out->loads = vbs_arena_alloc(&out->arena, n_loads, sizeof *out->loads);
    out->residents = vbs_arena_alloc(&out->arena, n_loads, sizeof *out->residents);
    out->outside = vbs_arena_alloc(&out->arena, n_layers, sizeof *out->outside);
    out->output_layers =
        vbs_arena_alloc(&out->arena, (size_t)p->network->n_outputs, sizeof *out->output_layers);
    if (!p->divides || !out->begin || !out->sources || !out->loads || !out->residents ||
        !out->outside || !out->output_layers)
        return vbs_no_memory(p->ctx);
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        if (step->n_slices > 1 ||
            (vbs_exec_is_stripe(p->checked->profile, step) &&
             vbs_layer_accumulates(&p->checked->profile->layers[step->layer])))
            p->divides[step->layer] = true;
    }
    return find_outputs(p);
}

static void add_steps(struct programming *p)
{
    const struct vbs_schedule *schedule = p->checked->schedule;
    struct vbs_exec_program *out = p->out;

    out->begin[0] = 0;
    if (p->fit->groups.line_of[0] >= 0)
        add_all(p, 0, 0);
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        out->begin[s + 1] = out->n_ops;
        if (schedule->steps[s].op == VBS_STEP_EVICT)
            add_wait(p, VBS_DO_WAIT_TO_EVICT, p->checked->steps[s].waits);
        add_moves(p, s);
        if (p->checked->steps[s].kernel < 0)
            continue;
        add_wait(p, VBS_DO_WAIT_TO_COMPUTE, p->checked->steps[s].waits);
        if (vbs_exec_is_stripe(p->checked->profile, &schedule->steps[s])) {
            add_stripe(p, s);
        } else {
            add_compute(p, s);
            add_resident_reader_outputs(p, s);
        }
    }
    out->begin[schedule->n_steps + 1] = out->n_ops;
    add_outside(p);
    out->begin[schedule->n_steps + 2] = out->n_ops;
    if (schedule->io == VBS_IO_RESIDENT)
        add_after(p);
    out->begin[schedule->n_steps + 3] = out->n_ops;
}

enum vbs_status vbs_exec_program_make(struct vbs_ctx *ctx, struct vbs_exec_program *program,
                                      const struct vbs_exec_fit *fit,
                                      const struct vbs_network *network,
                                      struct vbs_exec_arena *arena,
                                      const struct vbs_exec_file *file, bool marks)
{
    struct programming p = {.ctx = ctx,
                            .out = program,
                            .fit = fit,
                            .checked = fit->checked,
                            .layers = fit->checked->profile->layers,
                            .network = network,
                            .arena = arena};

    VBS_TRY(begin_program(&p));
    add_steps(&p);
    VBS_TRY(p.status);
    list_loads(&p, file, marks);
    return VBS_OK;
}

void vbs_exec_program_clear(struct vbs_exec_program *program)
{
    for (int i = 0; i < program->n_outside; i++) {
        struct vbs_exec_outside *outside = &program->outside[i];

        if (outside->session)
            outside->session->ops->free(outside->session, outside->samples);
        else
            free(outside->samples);
    }
    free(program->ops);
    vbs_arena_clear(&program->arena);
    *program = (struct vbs_exec_program){0};
}
