/*
 * Recurrent operators as one product of all elements with the weights of the input, of oneDNN, and
 * a loop over the elements of our own (cells/), in which only the states are multiplied.
 *
 * Threads share the samples and directions, and never wait for each other; or (+shared) they share
 * the units of each element, and wait for each other behind it. The first reads the weights of a
 * direction once for each thread that has samples of it, the second once.
 *
 * Units are in blocks, and blocks padded. The weights are those of the input [I, directions,
 * blocks, gates, lanes], which is a matrix, then those of the state [directions, blocks] of [terms,
 * gates, lanes], or, where a gru takes two steps, of those of the gates of each step.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/cells/cells.h"
#include "base/fail.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHM "loop:recurrent"
#define SHARED    "+shared"
#define MAX_STEPS 2    /* of a cell */
#define SPINS     1000 /* rounds of waiting before another thread may have the processor */

/* ---- sizes ---- */

struct recurrent_plan {
    int64_t samples, elements, input, hidden, directions, gates;
    int64_t lanes, blocks, units; /* units of a block; blocks, and units with padding, of a
                                     direction */
    int64_t terms;                /* states that a unit multiplies, with padding */
    int64_t sums;                 /* of an element, of all directions */
    int64_t rows;                 /* of the output of a sample */
    int64_t arrays;               /* of states, in the workspace */
    bool backward, cells;
    bool given;    /* there are first states */
    bool shared;   /* threads share units */
    int64_t parts; /* of the samples of a direction, where they do not */
    int n_steps;   /* of a cell */
    int64_t n_gates[MAX_STEPS];
    od_cell_loop *loop[MAX_STEPS];
    const float *bias; /* [directions][units] of the product of a gru's candidate with the state */
    const float *peepholes; /* [directions][3][units]; null: none */
    struct vbs_cell_function functions[VBS_CELL_FUNCTIONS];
};

/* The arrays of states [directions, samples, units]: of even and of odd elements, then what the
 * loops call memory and reset. */
enum { EVEN, ODD, MEMORY, RESET };

static bool resets_before(const struct vbs_layer *l)
{
    return l->op == VBS_OP_GRU && !l->attributes.recurrent.reset_after;
}

static bool resets_after(const struct vbs_layer *l)
{
    return l->op == VBS_OP_GRU && l->attributes.recurrent.reset_after;
}

/* Replaces the loops by those of any functions. */
static void choose_any(const struct vbs_layer *l, struct recurrent_plan *r)
{
    const struct vbs_cell_function *given = l->attributes.recurrent.functions;
    const struct od_cell_loops *loops = od_cells();
    od_cell_loop *const first[] = {[0] = loops->rnn_any,
                                   [1] = loops->lstm_any,
                                   [2] = loops->gru_gates_any,
                                   [3] = loops->gru_after_any};

    if (given[0].kind == VBS_CELL_USUAL && !l->attributes.recurrent.peepholes)
        return;
    for (int i = 0; i < VBS_CELL_FUNCTIONS; i++)
        r->functions[i] =
            given[0].kind != VBS_CELL_USUAL
                ? given[i]
                : (struct vbs_cell_function){i == 0 ? VBS_CELL_SIGMOID : VBS_CELL_TANH, 0, 0};
    r->loop[0] = first[l->op == VBS_OP_RNN    ? 0
                       : l->op == VBS_OP_LSTM ? 1
                       : resets_before(l)     ? 2
                                              : 3];
    if (r->n_steps > 1)
        r->loop[1] = loops->gru_candidate_any;
}

static void choose_loops(const struct vbs_layer *l, struct recurrent_plan *r)
{
    const struct od_cell_loops *loops = od_cells();
    od_cell_loop *const rnn[] = {[VBS_RNN_TANH] = loops->rnn_tanh,
                                 [VBS_RNN_RELU] = loops->rnn_relu,
                                 [VBS_RNN_SIGMOID] = loops->rnn_sigmoid};

    r->n_steps = 1;
    r->n_gates[0] = r->gates;
    if (l->op == VBS_OP_LSTM) {
        r->loop[0] = loops->lstm;
        r->arrays = MEMORY + 1;
    } else if (resets_before(l)) {
        r->n_steps = 2;
        r->n_gates[0] = 2;
        r->n_gates[1] = 1;
        r->loop[0] = loops->gru_gates;
        r->loop[1] = loops->gru_candidate;
        r->arrays = RESET + 1;
    } else {
        r->loop[0] = l->op == VBS_OP_GRU ? loops->gru_after : rnn[l->attributes.recurrent.function];
        r->arrays = ODD + 1;
    }
}

static struct recurrent_plan plan_of(const struct od_build *b)
{
    const struct vbs_layer *l = b->l;
    struct recurrent_plan r = {.samples = b->batch,
                               .elements = l->views[0].dim[0],
                               .input = l->views[0].dim[1],
                               .hidden = l->attributes.recurrent.hidden,
                               .directions = l->operand.dim[0],
                               .gates = vbs_op_gates(l->op),
                               .lanes = od_cells()->lanes,
                               .rows = l->shape.dim[0],
                               .backward = l->attributes.recurrent.direction == VBS_BACKWARD,
                               .cells = l->attributes.recurrent.cells,
                               .given = l->n_inputs > 1};
    int threads = b->serial ? 1 : b->session->threads;

    r.blocks = (r.hidden + r.lanes - 1) / r.lanes;
    r.units = r.blocks * r.lanes;
    r.terms = (r.hidden + 3) / 4 * 4;
    r.sums = r.directions * r.gates * r.units;
    r.parts = (threads + r.directions - 1) / r.directions;
    if (r.parts > r.samples)
        r.parts = r.samples;
    choose_loops(l, &r);
    choose_any(l, &r);
    return r;
}

/* Gives where the weights of a step of a cell's block begin. */
static int64_t weights_at(const struct recurrent_plan *r, int64_t direction, int64_t block,
                          int step)
{
    int64_t gates = (direction * r->blocks + block) * r->gates + (step > 0 ? r->n_gates[0] : 0);

    return gates * r->terms * r->lanes;
}

/* ---- running ---- */

struct recurrent_job {
    const struct recurrent_plan *of;
    float *y;
    const float *sums;    /* [samples, elements, directions, blocks, gates, lanes] */
    float *states;        /* [arrays, directions, samples, units] */
    const float *weights; /* of the state */
    atomic_int_fast64_t arrived;
};

static float *states_at(const struct recurrent_job *job, int array, int64_t direction,
                        int64_t sample)
{
    const struct recurrent_plan *r = job->of;

    return job->states + ((array * r->directions + direction) * r->samples + sample) * r->units;
}

/* Computes a step of the cells of a block, for the element that comes t-th in this direction. */
static void compute(const struct recurrent_job *job, int step, int64_t direction, int64_t block,
                    int64_t t, int64_t first, int64_t n)
{
    const struct recurrent_plan *r = job->of;
    bool backward = r->backward || direction == 1;
    int64_t element = backward ? r->elements - 1 - t : t, unit = block * r->lanes;
    int64_t sample = first * r->elements + element;
    const float *before = states_at(job, t % 2 ? ODD : EVEN, direction, first);
    struct od_cell_step s = {
        .n_samples = n,
        .n_units = r->hidden - unit < r->lanes ? r->hidden - unit : r->lanes,
        .weights = job->weights + weights_at(r, direction, block, step),
        .n_terms = t > 0 || r->given ? r->terms : 0, /* the first states are zeros */
        .before = step > 0 ? states_at(job, RESET, direction, first) : before,
        .row = r->units,
        .sums = job->sums + sample * r->sums +
                ((direction * r->blocks + block) * r->gates + (step > 0 ? r->n_gates[0] : 0)) *
                    r->lanes,
        .sums_row = r->elements * r->sums,
        .bias = r->bias ? r->bias + direction * r->units + unit : NULL,
        .previous = before + unit,
        .states = states_at(job, t % 2 ? EVEN : ODD, direction, first) + unit,
        .memory = r->arrays > MEMORY ? states_at(job, MEMORY, direction, first) + unit : NULL,
        .reset = r->arrays > RESET ? states_at(job, RESET, direction, first) + unit : NULL,
        .functions = r->functions,
        .peepholes = r->peepholes ? r->peepholes + 3 * direction * r->units + unit : NULL,
        .peepholes_row = r->units,
        .y = job->y + ((first * r->rows + element) * r->directions + direction) * r->hidden + unit,
        .y_row = r->rows * r->directions * r->hidden};

    r->loop[step](&s);
}

/* Computes all elements of a part of the samples, in one direction. */
static void run_part(void *self, int64_t i)
{
    const struct recurrent_job *job = self;
    const struct recurrent_plan *r = job->of;
    int64_t direction = i / r->parts, part = i % r->parts;
    int64_t first = r->samples * part / r->parts, end = r->samples * (part + 1) / r->parts;

    for (int64_t t = 0; t < r->elements; t++)
        for (int step = 0; step < r->n_steps; step++)
            for (int64_t block = 0; block < r->blocks; block++)
                compute(job, step, direction, block, t, first, end - first);
}

/* Waits until all threads of the region have arrived for the round-th time, from 1 on. */
static void meet(struct recurrent_job *job, int64_t threads, int64_t round)
{
    atomic_fetch_add_explicit(&job->arrived, 1, memory_order_acq_rel);
    for (int spins = 0;
         atomic_load_explicit(&job->arrived, memory_order_acquire) < threads * round;) {
        if (spins < SPINS)
            spins++;
        else
            sched_yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

/* Computes a thread's share of the blocks of all directions, for all elements and samples. */
static void run_share(void *self, int64_t thread, int64_t threads)
{
    struct recurrent_job *job = self;
    const struct recurrent_plan *r = job->of;
    int64_t n = r->directions * r->blocks, first = n * thread / threads, round = 0;
    int64_t end = n * (thread + 1) / threads;

    for (int64_t t = 0; t < r->elements; t++)
        for (int step = 0; step < r->n_steps; step++) {
            for (int64_t i = first; i < end; i++)
                compute(job, step, i / r->blocks, i % r->blocks, t, 0, r->samples);
            meet(job, threads, ++round);
        }
}

/* Sets the states before the sequence: those that are given, [samples, directions, hidden], or
 * zeros, as in padding. */
static void begin(const struct recurrent_job *job, int array, const float *given)
{
    const struct recurrent_plan *r = job->of;

    for (int64_t d = 0; d < r->directions; d++)
        for (int64_t i = 0; i < r->samples; i++) {
            float *to = states_at(job, array, d, i);

            memset(to, 0, (size_t)r->units * sizeof *to);
            if (given)
                memcpy(to, given + (i * r->directions + d) * r->hidden,
                       (size_t)r->hidden * sizeof *to);
        }
}

/* Copies the states behind the sequence, or the memories, to a row of the output. */
static void end(const struct recurrent_job *job, int array, int64_t row)
{
    const struct recurrent_plan *r = job->of;

    for (int64_t d = 0; d < r->directions; d++)
        for (int64_t i = 0; i < r->samples; i++)
            memcpy(job->y + ((i * r->rows + row) * r->directions + d) * r->hidden,
                   states_at(job, array, d, i), (size_t)r->hidden * sizeof *job->y);
}

/* data: the output, the products with the input, the states in the workspace, the weights of the
 * state, then the first states and memories that are given. */
static bool run(const void *plan, float *const *data)
{
    const struct recurrent_plan *r = plan;
    struct recurrent_job job = {
        .of = r, .y = data[0], .sums = data[1], .states = data[2], .weights = data[3]};

    begin(&job, EVEN, data[4]);
    for (int array = ODD; array < r->arrays; array++)
        begin(&job, array, array == MEMORY ? data[5] : NULL);
    if (r->shared)
        od_on_threads(run_share, &job);
    else
        od_parallel(r->directions * r->parts,
                    r->samples * r->elements * r->sums * r->terms / r->lanes, run_part, &job);
    if (r->cells) {
        end(&job, r->elements % 2 ? ODD : EVEN, r->elements);
        end(&job, MEMORY, r->elements + 1);
    }
    return true;
}

/* ---- parameters ---- */

static int64_t input_weights(const struct recurrent_plan *r)
{
    return r->input * r->sums;
}

/* Writes a gate's weights of the input, of one direction: [hidden, I]. */
static void put_input(const struct recurrent_plan *r, int64_t direction, int64_t gate,
                      const float *from, float *values)
{
    for (int64_t h = 0; h < r->hidden; h++) {
        int64_t block = direction * r->blocks + h / r->lanes;
        float *to = values + (block * r->gates + gate) * r->lanes + h % r->lanes;

        for (int64_t i = 0; i < r->input; i++)
            to[i * r->sums] = from[h * r->input + i];
    }
}

/* Writes a gate's weights of the state, of one direction: [hidden, hidden]. */
static void put_state(const struct recurrent_plan *r, int64_t direction, int64_t gate,
                      const float *from, float *values)
{
    int step = gate >= r->n_gates[0];
    int64_t at = gate - (step > 0 ? r->n_gates[0] : 0), n_gates = r->n_gates[step];

    for (int64_t h = 0; h < r->hidden; h++) {
        float *to =
            values + weights_at(r, direction, h / r->lanes, step) + at * r->lanes + h % r->lanes;

        for (int64_t i = 0; i < r->hidden; i++)
            to[i * n_gates * r->lanes] = from[h * r->hidden + i];
    }
}

static enum vbs_status fill_weights(struct od_build *b, void *memory)
{
    const struct recurrent_plan r = plan_of(b);
    int64_t n_input = r.hidden * r.input, n_state = r.hidden * r.hidden;
    float *values = memory, *state = values + input_weights(&r);
    struct vbs_session_core *core = &b->session->core;
    const float *gate;

    memset(values, 0, (size_t)(r.input + r.terms) * (size_t)r.sums * sizeof *values);
    for (int64_t g = 0; g < r.directions * r.gates; g++) {
        VBS_TRY(vbs_weight_row(b->ctx, core, b->layer, VBS_PARAMETER_WEIGHTS, g, n_input, &gate));
        put_input(&r, g / r.gates, g % r.gates, gate, values);
    }
    for (int64_t g = 0; g < r.directions * r.gates; g++) {
        VBS_TRY(vbs_weight_row(b->ctx, core, b->layer, VBS_PARAMETER_OPERAND, g, n_state, &gate));
        put_state(&r, g / r.gates, g % r.gates, gate, state);
    }
    return VBS_OK;
}

/* Fills the biases of the product with the input, which are those of the state too, and `apart` of
 * the candidate of a gru that resets after its product, where it is not null. */
static enum vbs_status fill_bias(struct od_build *b, const struct recurrent_plan *r, float *bias,
                                 float *apart)
{
    int64_t n = r->gates * r->hidden;
    float *pair = malloc(2 * (size_t)n * sizeof *pair);
    enum vbs_status status = pair ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t d = 0; d < r->directions && status == VBS_OK; d++) {
        status = vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_BIAS,
                                      2 * d * n, 2 * n, pair);
        for (int64_t i = 0; i < n && status == VBS_OK; i++) {
            int64_t gate = i / r->hidden, h = i % r->hidden;
            int64_t block = d * r->blocks + h / r->lanes;
            bool parted = apart && gate == r->gates - 1;

            bias[(block * r->gates + gate) * r->lanes + h % r->lanes] =
                pair[i] + (parted ? 0 : pair[n + i]);
            if (parted)
                apart[block * r->lanes + h % r->lanes] = pair[n + i];
        }
    }
    free(pair);
    return status;
}

/* Fills the peepholes, [directions][3][units], with zeros for padding. */
static enum vbs_status fill_peepholes(struct od_build *b, const struct recurrent_plan *r,
                                      float *peepholes)
{
    memset(peepholes, 0, 3 * (size_t)(r->directions * r->units) * sizeof *peepholes);
    for (int64_t i = 0; i < 3 * r->directions; i++)
        VBS_TRY(vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_GAMMA,
                                     i * r->hidden, r->hidden, peepholes + i * r->units));
    return VBS_OK;
}

/* ---- kernels ---- */

/* The memory descriptors of the product with the input. */
struct recurrent_product {
    dnnl_memory_desc_t src, weights, bias, dst;
};

static enum vbs_status find_product(struct od_build *b, const struct recurrent_plan *r,
                                    struct recurrent_product *to, dnnl_primitive_desc_t *pd)
{
    int64_t rows = r->samples * r->elements;
    int n_fused = 0;
    dnnl_matmul_desc_t desc;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){rows, r->input}, &to->src));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){r->input, r->sums}, &to->weights));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){1, r->sums}, &to->bias));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){rows, r->sums}, &to->dst));
    dnnl = dnnl_matmul_desc_init(&desc, &to->src, &to->weights, &to->bias, &to->dst);
    return dnnl == dnnl_success ? od_best(b, &desc, 0, &n_fused, pd)
                                : od_fail(b, dnnl, "describing a product");
}

/* Appends the product; *sums are its results. */
static enum vbs_status add_product(struct od_build *b, const struct recurrent_plan *r, float *bias,
                                   dnnl_memory_t *sums)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL},
                              {DNNL_ARG_WEIGHTS, NULL},
                              {DNNL_ARG_BIAS, NULL},
                              {DNNL_ARG_DST, NULL}};
    struct recurrent_product p;
    dnnl_primitive_desc_t pd = NULL;
    enum vbs_status status = find_product(b, r, &p, &pd);

    if (status == VBS_OK)
        status = od_source(b, 0, OD_PLAIN, &p.src, &args[0].memory);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &p.weights, OD_WEIGHTS, 0, NULL, &args[1].memory);
    if (status == VBS_OK)
        status = od_kernel_memory(b, &p.bias, OD_FIXED, 0, bias, &args[2].memory);
    if (status == VBS_OK)
        status = od_kernel_buffer(b, &p.dst, &args[3].memory);
    if (status == VBS_OK)
        status = od_kernel_step(b, pd, 4, args);
    dnnl_primitive_desc_destroy(pd);
    *sums = args[3].memory;
    return status;
}

/* Appends the loop over the elements. */
static enum vbs_status add_loop(struct od_build *b, const struct recurrent_plan *plan,
                                dnnl_memory_t sums)
{
    const struct od_memory behind = {.location = OD_WEIGHTS,
                                     .offset = input_weights(plan) * (int64_t)sizeof(float)};
    int64_t row = plan->directions * plan->hidden;
    dnnl_memory_t data[OD_MAX_DATA] = {[1] = sums};
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_dense(b, 3, (dnnl_dims_t){b->batch, plan->rows, row}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(
        od_describe_vector(b, plan->arrays * plan->directions * plan->samples * plan->units, &md));
    VBS_TRY(od_kernel_buffer(b, &md, &data[2]));
    VBS_TRY(od_describe_vector(b, plan->terms * plan->sums, &md));
    VBS_TRY(od_kernel_add(b, &md, behind, NULL, &data[3]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){b->batch, row}, &md));
    for (int i = 1; i < b->l->n_inputs; i++)
        VBS_TRY(od_source(b, i, OD_PLAIN, &md, &data[3 + i]));
    return od_kernel_call(b, run, plan, 3 + b->l->n_inputs, data);
}

static enum vbs_status build(struct od_build *b, bool shared)
{
    struct recurrent_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    const struct recurrent_plan r = plan_of(b);
    int64_t n_apart = resets_after(b->l) ? r.directions * r.units : 0;
    int64_t n_peeped = b->l->attributes.recurrent.peepholes ? 3 * r.directions * r.units : 0;
    int64_t n_constants = r.sums + n_apart + n_peeped;
    float *bias = od_constants(b, n_constants), *apart;
    struct od_packed *packed;
    dnnl_memory_t sums;

    if (!plan || !bias)
        return vbs_no_memory(b->ctx);
    apart = n_apart > 0 ? bias + r.sums : NULL;
    memset(bias, 0, (size_t)(r.sums + n_apart) * sizeof *bias);
    VBS_TRY(fill_bias(b, &r, bias, apart));
    if (n_peeped > 0)
        VBS_TRY(fill_peepholes(b, &r, bias + r.sums + n_apart));
    *plan = r;
    plan->bias = apart;
    plan->peepholes = n_peeped > 0 ? bias + r.sums + n_apart : NULL;
    plan->shared = shared;
    VBS_TRY(od_kernel_begin(b, shared ? ALGORITHM SHARED : ALGORITHM));
    VBS_TRY(od_weights_filled(b, (r.input + r.terms) * r.sums, fill_weights, &packed));
    od_kernel_weights(b, packed, 0, 1);
    VBS_TRY(add_product(b, plan, bias, &sums));
    VBS_TRY(add_loop(b, plan, sums));
    return od_fused_end(b, 0, packed->bytes + n_constants * (int64_t)sizeof(float), packed->number);
}

enum vbs_status od_build_recurrent(struct od_build *b)
{
    VBS_TRY(build(b, false));
    return b->serial || b->session->threads == 1 ? VBS_OK : build(b, true);
}
