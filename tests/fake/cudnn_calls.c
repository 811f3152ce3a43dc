#include "fake/cuda_common.h"

#include <string.h>

int64_t fake_elements(const struct fake_tensor *tensor)
{
    int64_t n = 1;

    for (int d = 0; d < tensor->n_dims; d++)
        n *= tensor->dim[d];
    return n;
}

int64_t fake_offset(const struct fake_tensor *t, const struct fake_tensor *of, int64_t i)
{
    int64_t offset = 0;

    for (int d = t->n_dims - 1; d >= 0; d--) {
        offset += of->dim[d] == 1 ? 0 : i % t->dim[d] * of->stride[d];
        i /= t->dim[d];
    }
    return offset;
}

double fake_n_values(const struct fake_op *op)
{
    return (double)fake_elements(&op->at[FAKE_Y].t);
}

/* ---- Calls, step by step ---- */

void fake_op_ask(struct fake_op *op, const char *function)
{
    *op = (struct fake_op){.alpha = 1};
    op->code = fake_enter(function);
}

void fake_op_begin(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op))
{
    const struct fake_object *h;

    fake_op_ask(op, function);
    op->run = run;
    if (op->code)
        return;
    h = fake_object(FAKE_HANDLE, handle);
    op->stream = h ? fake_stream(h->handle_stream) : NULL;
    if (!op->stream)
        op->code = CUDNN_STATUS_BAD_PARAM;
}

void fake_op_must(struct fake_op *op, bool condition, const char *what)
{
    if (!op->code && !condition)
        op->code = fake_wrong("%s", what);
}

const struct fake_object *fake_op_get(struct fake_op *op, enum fake_kind kind,
                                      const void *descriptor)
{
    const struct fake_object *object = op->code ? NULL : fake_object(kind, descriptor);

    if (!op->code && !object)
        op->code = CUDNN_STATUS_BAD_PARAM;
    fake_op_must(op, object && object->set, "a descriptor was created and never set");
    return op->code ? NULL : object;
}

static int64_t span(const struct fake_tensor *t)
{
    int64_t n = 1;

    for (int d = 0; d < t->n_dims; d++)
        n += (int64_t)(t->dim[d] - 1) * t->stride[d];
    return n;
}

static const char *const slot_names[FAKE_SLOTS] = {"x", "w", "bias", "z", "mean", "variance", "y"};

static void operand(struct fake_op *op, enum fake_slot slot, enum fake_kind kind,
                    const void *descriptor, const void *values)
{
    const struct fake_object *object = fake_op_get(op, kind, descriptor);
    void *bytes;

    if (!object)
        return;
    op->at[slot].t = object->tensor;
    if (!op->run)
        return;
    bytes =
        fake_device_bytes(values, (size_t)span(&object->tensor) * sizeof(float), slot_names[slot]);
    if (!bytes)
        op->code = CUDNN_STATUS_BAD_PARAM;
    fake_op_must(op, (uintptr_t)values % sizeof(float) == 0, "values begin at no multiple of 4");
    op->at[slot].values = bytes;
}

void fake_op_tensor(struct fake_op *op, enum fake_slot slot, const void *descriptor,
                    const void *values)
{
    operand(op, slot, FAKE_TENSOR, descriptor, values);
}

void fake_op_filter(struct fake_op *op, const void *descriptor, const void *values)
{
    operand(op, FAKE_W, FAKE_FILTER, descriptor, values);
}

void fake_op_number(struct fake_op *op, double *number, const void *value)
{
    float copy = 0;

    fake_op_must(op, value && !fake_is_device(value), "a factor is null or in device memory");
    if (op->code)
        return;
    memcpy(&copy, value, sizeof copy);
    *number = copy;
}

void fake_op_blend(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op), const void *alpha, const void *beta)
{
    fake_op_begin(op, function, handle, run);
    fake_op_number(op, &op->alpha, alpha);
    fake_op_number(op, &op->beta, beta);
}

void fake_op_x_to_y(struct fake_op *op, const void *x_descriptor, const void *x,
                    const void *y_descriptor, const void *y)
{
    fake_op_tensor(op, FAKE_X, x_descriptor, x);
    fake_op_tensor(op, FAKE_Y, y_descriptor, y);
}

void fake_op_numbers(struct fake_op *op, enum fake_kind kind, const void *descriptor)
{
    const struct fake_object *object = fake_op_get(op, kind, descriptor);

    if (!object)
        return;
    op->mode = object->scalar.mode;
    memcpy(op->number_of, object->scalar.numbers, sizeof op->number_of);
}

void fake_op_same(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool broadcast)
{
    const struct fake_tensor *s = &op->at[a].t, *t = &op->at[b].t;

    if (!op->code && s->n_dims != t->n_dims)
        op->code = fake_wrong("%s has %d dimensions, %s %d", slot_names[a], s->n_dims,
                              slot_names[b], t->n_dims);
    for (int d = 0; !op->code && d < s->n_dims; d++) {
        if (s->dim[d] != t->dim[d] && !(broadcast && s->dim[d] == 1))
            op->code = fake_wrong("dimension %d of %s is %d, of %s %d", d, slot_names[a], s->dim[d],
                                  slot_names[b], t->dim[d]);
    }
}

void fake_op_at_most_5(struct fake_op *op)
{
    fake_op_must(op, op->at[FAKE_Y].t.n_dims <= 5, "more than five dimensions");
}

/* Counts the values of b that are values of a as well. */
static int64_t n_common(const struct fake_operand *a, const struct fake_operand *b)
{
    int64_t n = span(&a->t), n_common = 0;
    char *marks = fake_map((size_t)n);

    for (int64_t i = 0, n_a = fake_elements(&a->t); i < n_a; i++)
        marks[fake_offset(&a->t, &a->t, i)] = 1;
    for (int64_t i = 0, n_b = fake_elements(&b->t); i < n_b; i++) {
        int64_t at = b->values - a->values + fake_offset(&b->t, &b->t, i);

        n_common += at >= 0 && at < n && marks[at];
    }
    fake_unmap(marks, (size_t)n);
    return n_common;
}

void fake_op_apart(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool in_place)
{
    const struct fake_operand *s = &op->at[a], *t = &op->at[b];

    if (op->code || !s->values || !t->values || s->values + span(&s->t) <= t->values ||
        t->values + span(&t->t) <= s->values)
        return;
    if (in_place && s->values == t->values && memcmp(&s->t, &t->t, sizeof s->t) == 0)
        return;
    if (n_common(s, t) > 0)
        op->code = fake_wrong("%s and %s overlap", slot_names[a], slot_names[b]);
}

void fake_op_scratch(struct fake_op *op, const void *scratch, size_t given, size_t needed)
{
    if (!op->code && given < needed)
        op->code = fake_wrong("a workspace of %zu bytes, %zu are needed", given, needed);
    fake_op_must(op, (uintptr_t)scratch % 16 == 0, "the workspace begins at no multiple of 16");
    if (op->code || (given == 0 && needed == 0))
        return;
    op->scratch = fake_device_bytes(scratch, given, "workspace");
    op->scratch_bytes = needed;
    if (!op->scratch)
        op->code = CUDNN_STATUS_BAD_PARAM;
    for (int i = 0; !op->code && i < FAKE_SLOTS; i++) {
        const struct fake_operand *o = &op->at[i];

        if (o->values && (char *)o->values < op->scratch + given &&
            op->scratch < (char *)(o->values + span(&o->t)))
            op->code = fake_wrong("workspace and %s overlap", slot_names[i]);
    }
}

/* Checks that no values of the output overlap, because the result would depend on the order of
 * writing. */
static void check_output(struct fake_op *op)
{
    const struct fake_operand *y = &op->at[FAKE_Y];
    int64_t n = fake_elements(&y->t), n_different = 0;
    char *marks;

    if (op->code || span(&y->t) == n)
        return;
    marks = fake_map((size_t)span(&y->t));
    for (int64_t i = 0; i < n; i++) {
        char *mark = &marks[fake_offset(&y->t, &y->t, i)];

        n_different += !*mark;
        *mark = 1;
    }
    fake_unmap(marks, (size_t)span(&y->t));
    fake_op_must(op, n_different == n, "values of y lie on one another");
}

cudnnStatus_t fake_op_issue(struct fake_op *op, double operations)
{
    check_output(op);
    op->cost_us = 1 + operations / 1e6;
    if (!op->code)
        fake_queue(op->stream, op);
    return fake_leave(op->code);
}
