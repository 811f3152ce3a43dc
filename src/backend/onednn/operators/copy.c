/*
 * Copies that move values: any dimension of the output comes from any dimension of the input, in
 * any layout. In blocks the channels are two axes, blocks outside and channels of a block
 * inside, if they come from whole blocks; else one axis with tables. Native kernels copy values as
 * they are stored; those of 8 bits go through a table where the encodings differ or operators are
 * fused.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"

#include <string.h>

#define LONG_ROW 256 /* values from which on a call of memcpy pays */

/* A copy in which each position is `unit` values, which are contiguous on both sides. */
struct copy_plan {
    int64_t unit, bytes;  /* of a value */
    const uint8_t *table; /* of 8 bits: what becomes of each whole number; null: nothing */
    const struct od_row_loops *rows;
    unsigned char fill[sizeof(float)];
    bool partial; /* the copy writes only a part of the output */
    struct od_nest nest;
};

/* ---- running ---- */

/* Copies the values of one position, or of neighbouring ones. Where from is null, there is none,
 * and the fill value is written. */
static void copy_values(const struct copy_plan *p, const char *from, int64_t n, char *to)
{
    int64_t bytes = n * p->bytes;

    if (from && p->table)
        p->rows->map(p->table, (const uint8_t *)from, bytes, (uint8_t *)to);
    else if (from && bytes == 64)
        memcpy(to, from, 64);
    else if (from && bytes == sizeof(float))
        memcpy(to, from, sizeof(float));
    else if (from)
        memcpy(to, from, (size_t)bytes);
    for (int64_t i = 0; !from && i < bytes; i += p->bytes)
        memcpy(to + i, p->fill, (size_t)p->bytes);
}

/* Returns how many positions from i on, before end, are neighbours in the input as they are in the
 * output; where position i is none, 1. */
static int64_t count_neighbours(const struct copy_plan *p, const int64_t *table, int64_t i,
                                int64_t end)
{
    int64_t n = 1;

    while (table[i] >= 0 && i + n < end && table[i + n] == table[i] + n * p->unit)
        n++;
    return n;
}

static void copy_units(const struct copy_plan *p, const struct od_axis *axis, int64_t first,
                       int64_t n, void *const *at)
{
    const int64_t *table = axis->table[1];
    bool joins = table && !axis->table[0] && axis->stride[0] == p->unit;
    int64_t count;

    for (int64_t i = first; i < first + n; i += count) {
        bool there = at[1] && !(table && table[i] < 0);

        count = joins ? count_neighbours(p, table, i, first + n) : 1;
        copy_values(p, there ? (const char *)at[1] + od_axis_at(axis, 1, i) * p->bytes : NULL,
                    count * p->unit, (char *)at[0] + od_axis_at(axis, 0, i) * p->bytes);
    }
}

/* Defines a function that copies n values of a type, which lie step and from_step apart. */
#define SPREAD(type)                                                                               \
    static void spread_##type(const void *values, int64_t from_step, int64_t n, void *output,      \
                              int64_t step)                                                        \
    {                                                                                              \
        const type *from = values;                                                                 \
        type *to = output;                                                                         \
                                                                                                   \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i * step] = from[i * from_step];                                                    \
    }
SPREAD(float)
SPREAD(uint16_t)
SPREAD(uint8_t)
#undef SPREAD

/* Copies n values, of which the input's lie from_step apart, at 0 all in one place. */
static void copy_spread(const struct copy_plan *p, const void *from, int64_t from_step, int64_t n,
                        char *to, int64_t step)
{
    if (p->bytes == sizeof(float)) {
        spread_float(from, from_step, n, to, step);
    } else if (p->bytes == sizeof(uint16_t)) {
        spread_uint16_t(from, from_step, n, to, step);
    } else if (p->table) {
        for (int64_t i = 0; i < n; i++)
            to[i * step] = (char)p->table[((const uint8_t *)from)[i * from_step]];
    } else {
        spread_uint8_t(from, from_step, n, to, step);
    }
}

/* Looks the values of bytes up along an axis whose input has a table and whose output has not. */
static void copy_bytes(const struct copy_plan *p, const struct od_axis *axis, int64_t first,
                       int64_t n, void *const *at)
{
    const int64_t *table = axis->table[1];
    const uint8_t *from = at[1];
    uint8_t *to = at[0];
    int64_t step = axis->stride[0];

    for (int64_t i = first; i < first + n; i++) {
        uint8_t q = table[i] < 0 ? p->fill[0] : from[table[i]];

        to[i * step] = p->table && table[i] >= 0 ? p->table[q] : q;
    }
}

static void copy_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                     void *const *at)
{
    const struct copy_plan *p = plan;
    int64_t step = axis->stride[0], from_step = axis->stride[1];
    char *to = (char *)at[0] + first * step * p->bytes;
    const char *from = at[1];

    if (p->unit == 1 && p->bytes == 1 && from && axis->table[1] && !axis->table[0]) {
        copy_bytes(p, axis, first, n, at);
    } else if (p->unit > 1 && p->table && from && !axis->table[0] && !axis->table[1]) {
        p->rows->map_units(p->table, (const uint8_t *)from + first * from_step, from_step, p->unit,
                           n, (uint8_t *)to, step);
    } else if (axis->table[0] || axis->table[1] || p->unit > 1) {
        copy_units(p, axis, first, n, at);
    } else if (!from) {
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * step * p->bytes, p->fill, (size_t)p->bytes);
    } else if (step == 1 && from_step == 1 && !p->table) {
        memcpy(to, from + first * p->bytes, (size_t)(n * p->bytes));
    } else if (step == 1 && from_step == 1) {
        p->rows->map(p->table, (const uint8_t *)from + first, n, (uint8_t *)to);
    } else {
        copy_spread(p, from + first * from_step * p->bytes, from_step, n, to, step);
    }
}

static bool run_copy(const void *plan, float *const *data)
{
    const struct copy_plan *p = plan;
    float *const operands[OD_OPERANDS] = {data[0], data[1]};

    od_nest_run(&p->nest, copy_row, p, operands);
    return true;
}

/* ---- planning ---- */

/* A tensor's strides in values; for channels in blocks, the stride between blocks. */
struct strides {
    int64_t sample, channel_blocks;
    int64_t dim[VBS_MAX_DIMS];
    int64_t block; /* channels in a block; 1: there are no blocks */
    bool last;     /* the channels are last */
};

/* Gives the strides of a tensor of 8 bits as it is stored. */
static struct strides stored_strides(const struct od_build *b, int index)
{
    struct strides s = {.sample = od_stored_of(b, index)->bytes,
                        .block = 1,
                        .last = od_stored_layout(b, index) == OD_CHANNELS_LAST};

    od_stored_strides(b, index, s.dim);
    return s;
}

/* Gives the strides of input number index, or (n_inputs) of the output. */
static struct strides strides_of(const struct od_build *b, int index)
{
    const struct od_tensor *tensor = index < b->l->n_inputs ? od_input(b, index) : od_output(b);
    struct strides s = {.sample = tensor->stored_channels * tensor->positions,
                        .block = tensor->canonical == OD_BLOCKED ? b->session->block : 1};
    int64_t stride = s.block;

    if (od_value_bytes(b, index) == 1)
        return stored_strides(b, index);
    s.last = tensor->canonical == OD_CHANNELS_LAST;
    if (s.last) {
        s.dim[0] = 1;
        stride = tensor->channels;
    }
    for (int d = tensor->shape.n_dims - 1; d >= s.last; d--) {
        s.dim[d] = stride;
        stride *= tensor->shape.dim[d];
    }
    s.channel_blocks = tensor->positions * s.block;
    return s;
}

/* Gives the offset of position i of dimension d. */
static int64_t place(const struct strides *s, int d, int64_t i)
{
    return d == 0 && s->block > 1 ? i / s->block * s->channel_blocks + i % s->block : i * s->dim[d];
}

static int64_t position(const struct od_route *route, int64_t i)
{
    return route->source < 0 ? 0 : route->table ? route->table[i] : route->first + i * route->step;
}

/* Adds an axis with a table for each operand. Evenly spaced tables become strides later. */
static enum vbs_status add_tables(struct od_build *b, const struct od_copy *copy, int r,
                                  const struct strides *in, const struct strides *out, int out_dim,
                                  int64_t to_step, struct od_nest *nest)
{
    const struct od_route *route = &copy->routes[r];
    int64_t shift = copy->axis == 0 ? copy->first : 0;
    int64_t *to = vbs_arena_alloc(&b->session->core.arena, (size_t)route->n, sizeof *to);
    int64_t *from = vbs_arena_alloc(&b->session->core.arena, (size_t)route->n, sizeof *from);
    struct od_axis *axis = od_nest_add(nest, route->n);

    if (!to || !from)
        return vbs_no_memory(b->ctx);
    for (int64_t i = 0; i < route->n; i++) {
        int64_t at = position(route, i);

        to[i] = out_dim == 0 && out->block > 1 ? place(out, 0, i + shift) : i * to_step;
        from[i] = at < 0 ? OD_NOTHING : route->source < 0 ? 0 : place(in, route->source, at);
    }
    axis->table[0] = to;
    axis->table[1] = from;
    return VBS_OK;
}

/* Gives whether a route needs no table: its dimensions are plain. The step may be negative. */
static bool is_straight(const struct od_route *route, const struct strides *in)
{
    return !route->table && (in->block == 1 || route->source != 0);
}

static void add_straight(const struct od_route *route, const struct strides *in, int64_t to_step,
                         struct od_nest *nest)
{
    int64_t stride = route->source < 0 ? 0 : in->dim[route->source];

    nest->start[1] += route->source < 0 ? 0 : route->first * stride;
    od_nest_add_strided(nest, route->n, to_step, route->step * stride, 0);
}

/* Gives whether a route goes from whole blocks of channels to whole blocks. */
static bool by_blocks(const struct od_copy *copy, const struct strides *in,
                      const struct strides *out)
{
    const struct od_route *channels = &copy->routes[0];
    int64_t shift = copy->axis == 0 ? copy->first : 0;

    return in->block > 1 && out->block > 1 && channels->source == 0 && !channels->table &&
           channels->step == 1 && channels->first % in->block == 0 && shift % out->block == 0;
}

/* Adds the axes of a sample. */
static enum vbs_status add_sample(struct od_build *b, const struct od_copy *copy,
                                  const struct strides *in, const struct strides *out,
                                  struct od_nest *nest)
{
    bool blocks = by_blocks(copy, in, out);
    int64_t to_step[OD_MAX_ROUTES], step = out->block;
    enum vbs_status status = VBS_OK;

    if (out->block > 1 || out->last || copy->axis > 0 || copy->first > 0) {
        memcpy(to_step, out->dim, sizeof out->dim); /* routes are by the output's dimensions */
    } else {
        for (int r = copy->n_routes - 1; r >= 0; r--) {
            to_step[r] = step;
            step *= copy->routes[r].n;
        }
    }
    for (int i = 0; i < copy->n_routes && status == VBS_OK; i++) {
        int r = out->last ? (i + 1) % copy->n_routes : i;
        const struct od_route *route = &copy->routes[r];
        bool table = !is_straight(route, in) || (r == 0 && out->block > 1);

        if (r == 0 && blocks) {
            nest->start[1] += route->first / in->block * in->channel_blocks;
            od_nest_add_strided(nest, (route->n + out->block - 1) / out->block, out->channel_blocks,
                                in->channel_blocks, 0);
        } else if (table) {
            status = add_tables(b, copy, r, in, out, r, to_step[r], nest);
        } else {
            add_straight(route, in, to_step[r], nest);
        }
    }
    if (blocks)
        od_nest_add_strided(nest, out->block, 1, 1, 0);
    if (copy->axis > 0 || out->block == 1)
        nest->start[0] += copy->first * out->dim[copy->axis];
    else if (blocks)
        nest->start[0] += copy->first / out->block * out->channel_blocks;
    return status;
}

static enum vbs_status plan_nest(struct od_build *b, const struct od_copy *copy,
                                 struct od_nest *nest)
{
    struct strides in = strides_of(b, copy->input), out = strides_of(b, b->l->n_inputs);
    enum vbs_status status;

    od_nest_add_strided(nest, b->batch, out.sample, in.sample, 0);
    status = add_sample(b, copy, &in, &out, nest);
    od_nest_simplify(nest);
    return status;
}

/* Makes short rows that are contiguous on both sides units of the axis before them. */
static void make_units(struct copy_plan *plan)
{
    struct od_nest *nest = &plan->nest;
    const struct od_axis *row = &nest->axes[nest->n_axes - 1];

    plan->unit = 1;
    if (nest->n_axes == 1 || row->n > LONG_ROW || row->stride[0] != 1 || row->stride[1] != 1 ||
        row->table[0] || row->table[1])
        return;
    plan->unit = row->n;
    nest->cost = row->n;
    nest->n_axes--;
}

/* ---- steps ---- */

/* Gives whether every step of the axis with the larger stride in the input is beyond all of the
 * other axis. */
static bool are_nested(const struct od_axis *a, const struct od_axis *b)
{
    int64_t x = a->stride[1], y = b->stride[1];

    return x > y ? x >= y * b->n : y >= x * a->n;
}

/* Gives whether the copy is a transposition, in which rows of the output are columns of the input:
 * oneDNN is faster there. It supports only axes that are nested in each other. */
static bool is_transposition(const struct od_nest *nest)
{
    const struct od_axis *row = &nest->axes[nest->n_axes - 1];
    bool turned = false;

    for (int d = 0; d < nest->n_axes; d++) {
        const struct od_axis *axis = &nest->axes[d];

        if (axis->table[0] || axis->table[1] || axis->stride[1] <= 0)
            return false;
        for (int e = 0; e < d; e++)
            if (!are_nested(axis, &nest->axes[e]))
                return false;
        turned |= axis->stride[1] < row->stride[1];
    }
    return turned && nest->start[0] == 0 && nest->start[1] == 0 && row->stride[0] == 1;
}

/* Gives a type that is copied as it is. */
static dnnl_data_type_t type_of(int64_t bytes)
{
    return bytes == 1 ? dnnl_u8 : bytes == 2 ? dnnl_bf16 : dnnl_f32;
}

static enum vbs_status describe_nest(struct od_build *b, const struct od_nest *nest, int operand,
                                     dnnl_memory_desc_t *md)
{
    dnnl_dims_t dims = {0}, strides = {0};
    dnnl_status_t dnnl;

    for (int d = 0; d < nest->n_axes; d++) {
        dims[d] = nest->axes[d].n;
        strides[d] = nest->axes[d].stride[operand];
    }
    dnnl = dnnl_memory_desc_init_by_strides(md, nest->n_axes, dims, type_of(nest->bytes), strides);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "describing a transposition");
}

static enum vbs_status transposition_step(struct od_build *b, int input, const struct od_nest *nest)
{
    dnnl_memory_desc_t from_md, to_md;
    dnnl_memory_t from = NULL, to = NULL;

    VBS_TRY(describe_nest(b, nest, 1, &from_md));
    VBS_TRY(describe_nest(b, nest, 0, &to_md));
    VBS_TRY(od_kernel_memory(b, &from_md, OD_SRC, input, NULL, &from));
    VBS_TRY(od_kernel_memory(b, &to_md, OD_DST, 0, NULL, &to));
    return od_kernel_reorder(b, &from_md, from, &to_md, to);
}

/* Describes a tensor; the step uses only its address. */
static enum vbs_status whole_memory(struct od_build *b, int index, dnnl_memory_t *memory)
{
    bool output = index == b->l->n_inputs;
    const struct od_tensor *tensor = output ? od_output(b) : od_input(b, index);
    dnnl_memory_desc_t md;

    if (b->native)
        return od_stored_memory(b, index, memory);
    VBS_TRY(od_describe(b, tensor, b->batch, tensor->canonical, true, &md));
    return od_kernel_memory(b, &md, output ? OD_DST : OD_SRC, output ? 0 : index, NULL, memory);
}

/* Gives whether oneDNN does the copy; tables come behind it, on the whole output. */
static bool is_reorder(const struct copy_plan *plan)
{
    return is_transposition(&plan->nest) && !(plan->table && plan->partial);
}

/* Appends a step for plan, which has its nest and lives as long as the session. */
static enum vbs_status planned_step(struct od_build *b, const struct od_copy *copy,
                                    struct copy_plan *plan)
{
    bool transposition = is_reorder(plan);
    dnnl_memory_t data[2];

    if (transposition)
        VBS_TRY(transposition_step(b, copy->input, &plan->nest));
    if (transposition && !plan->table)
        return VBS_OK;
    VBS_TRY(whole_memory(b, b->l->n_inputs, &data[0]));
    if (transposition)
        return od_table_step(b, plan->table, b->batch * od_stored_of(b, b->l->n_inputs)->bytes,
                             data[0], data[0]);
    make_units(plan);
    VBS_TRY(whole_memory(b, copy->input, &data[1]));
    return od_kernel_call(b, run_copy, plan, 2, data);
}

/* Completes the request for the table of a copy: it does all fused operators, or those up to a
 * rounding, where a step by channel comes behind. */
static void complete_request(const struct od_build *b, struct od_table_request *request)
{
    struct od_tail tail;

    od_tail_find(b, 0, &tail);
    request->to = tail.lines ? tail.encoding : od_stored_of(b, b->l->n_inputs)->encoding;
    request->end = tail.lines ? tail.end : b->l->n_fused;
}

/* Sets the values that the copy writes: floats, or as they are stored. */
static enum vbs_status plan_values(struct od_build *b, const struct od_copy *copy,
                                   struct copy_plan *plan)
{
    struct od_table_request request = {.from = od_stored_of(b, copy->input)->encoding};

    plan->bytes = plan->nest.bytes = od_value_bytes(b, b->l->n_inputs);
    plan->rows = od_rows();
    if (plan->bytes == 1) {
        complete_request(b, &request);
        return od_table_make(b, &request, &copy->fill, &plan->table, plan->fill);
    }
    if (plan->bytes == sizeof(float))
        memcpy(plan->fill, &copy->fill, sizeof copy->fill);
    else
        plan->rows->narrow(&copy->fill, 1, (uint16_t *)(void *)plan->fill);
    return VBS_OK;
}

static enum vbs_status make_plan(struct od_build *b, const struct od_copy *copy,
                                 struct copy_plan **plan)
{
    *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof **plan);
    if (!*plan)
        return vbs_no_memory(b->ctx);
    (*plan)->partial = copy->axis > 0 || copy->first > 0 ||
                       copy->routes[copy->axis].n < b->l->shape.dim[copy->axis];
    VBS_TRY(plan_values(b, copy, *plan));
    return plan_nest(b, copy, &(*plan)->nest);
}

enum vbs_status od_copy_step(struct od_build *b, const struct od_copy *copy)
{
    struct copy_plan *plan;

    VBS_TRY(make_plan(b, copy, &plan));
    return planned_step(b, copy, plan);
}

enum vbs_status od_copy_end(struct od_build *b)
{
    struct od_tail tail = {.lines = false};

    if (!b->native)
        return od_fused_end(b, 0, 0, 0);
    if (od_value_bytes(b, b->l->n_inputs) == 1)
        od_tail_find(b, 0, &tail);
    if (!tail.lines)
        return od_kernel_end(b, 0, 0);
    VBS_TRY(od_tail_init(b, 0, &tail));
    VBS_TRY(od_tail_step(b, &tail));
    return od_kernel_end(b, od_line_bytes(tail.line), od_line_format(tail.line));
}

enum vbs_status od_build_copy(struct od_build *b, const struct od_copy *copy)
{
    struct copy_plan *plan;

    VBS_TRY(make_plan(b, copy, &plan));
    VBS_TRY(od_kernel_begin(b, is_reorder(plan) ? "reorder" : "loop:copy"));
    VBS_TRY(planned_step(b, copy, plan));
    VBS_TRY(od_zero_padding(b));
    return od_copy_end(b);
}
