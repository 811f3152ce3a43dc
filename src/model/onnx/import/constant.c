#include "model/onnx/import/constant.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/text.h"
#include "model/onnx/import/import.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY  (1 << 16) /* floats that should not become numbers */
#define EXACT 0x1p24L   /* below it floats have all whole numbers, and no other one becomes such */

static bool is_plain(const struct vbs_shape *shape, const int64_t *stride)
{
    int64_t each = 1;

    for (int i = shape->n_dims - 1; i >= 0; i--) {
        if (shape->dim[i] != 1 && stride[i] != each)
            return false;
        each *= shape->dim[i];
    }
    return true;
}

/* ---- copies for each sample ---- */

void vbs_onnx_same_copies(struct vbs_onnx_import *im, int index)
{
    im->copies = vbs_onnx_in(im, index)->constant->copies;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);

        if (i != index && state && state->constant && state->constant->copies > 0)
            im->copies = VBS_ONNX_UNSAID;
    }
}

void vbs_onnx_broadcast_copies(struct vbs_onnx_import *im, int rank)
{
    im->copies = 0;
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);
        int at = state && state->constant ? state->constant->copies : 0;

        if (at == 0)
            continue;
        at += rank - state->constant->shape.n_dims;
        if (im->copies != 0 && im->copies != at)
            at = VBS_ONNX_UNSAID;
        im->copies = at;
        if (at == VBS_ONNX_UNSAID)
            return;
    }
}

enum vbs_status vbs_onnx_check_copies(struct vbs_onnx_import *im, const struct vbs_onnx_constant *c,
                                      unsigned axes)
{
    return c->copies > 0 && (axes >> (c->copies - 1) & 1) ? vbs_onnx_counts(im) : VBS_OK;
}

static bool is_fill(const struct vbs_onnx_constant *c)
{
    return !c->computed && !c->values.memory && c->values.file < 0;
}

/* ---- numbers ---- */

enum vbs_status vbs_onnx_numbers_new(struct vbs_onnx_import *im, int64_t count,
                                     struct vbs_onnx_number **numbers)
{
    if (count > VBS_ONNX_MAX_NUMBERS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "constants of %lld elements are too large to compute with",
                        (long long)count);
    if (im->n_numbers + count > VBS_ONNX_MAX_ALL_NUMBERS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "the constants that are computed have more than %d elements together",
                        VBS_ONNX_MAX_ALL_NUMBERS);
    *numbers = vbs_arena_alloc(im->arena, (size_t)count, sizeof **numbers);
    im->n_numbers += count;
    return *numbers ? VBS_OK : vbs_no_memory(im->ctx);
}

enum vbs_status vbs_onnx_numbers_read(struct vbs_onnx_import *im, int64_t count)
{
    if (count > VBS_ONNX_MAX_ALL_READ - im->n_read)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "too much is computed with constants");
    im->n_read += count;
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_new(struct vbs_onnx_import *im, int type,
                                      const struct vbs_shape *shape,
                                      const struct vbs_onnx_number *numbers,
                                      struct vbs_onnx_constant **constant)
{
    struct vbs_onnx_constant *c = vbs_arena_alloc(im->arena, 1, sizeof *c);

    if (!c)
        return vbs_no_memory(im->ctx);
    *c = (struct vbs_onnx_constant){.name = im->node ? im->node->label : "",
                                    .type = type,
                                    .shape = *shape,
                                    .numbers = numbers,
                                    .computed = true};
    vbs_onnx_plain_strides(shape, c->stride);
    *constant = c;
    return VBS_OK;
}

void vbs_onnx_advance(const struct vbs_shape *shape, const int64_t *stride, int64_t *position,
                      int64_t *at)
{
    for (int d = shape->n_dims - 1; d >= 0; d--) {
        *at += stride[d];
        if (++position[d] < shape->dim[d])
            return;
        *at -= position[d] * stride[d];
        position[d] = 0;
    }
}

/* Counts the elements from the first stored one to the last one that c uses, both included. */
static int64_t stored_span(const struct vbs_onnx_constant *c)
{
    int64_t span = 1;

    for (int d = 0; d < c->shape.n_dims; d++)
        span += (c->shape.dim[d] - 1) * c->stride[d];
    return span;
}

/* Gives the number of elements before the first one that c uses in the byte that holds it. */
static int64_t shared_of(const struct vbs_onnx_constant *c)
{
    return vbs_element_bits(c->values.element) < 8 ? c->values.first % 2 : 0;
}

/* Gives the number that stored element number at of c stands for; stored is what read_stored gives.
 */
static long double number_at(const struct vbs_onnx_constant *c, const char *stored, int64_t at)
{
    long double value = vbs_element_value(c->values.element, stored, shared_of(c) + at);
    float scaled = (float)value;

    if (!c->values.grid)
        return value;
    vbs_grid_apply(c->values.grid, c->values.first + at, 1, &scaled);
    return scaled;
}

/* Reads the stored elements of c without converting them; the caller frees them with free(). */
static enum vbs_status read_stored(struct vbs_onnx_import *im, const struct vbs_onnx_constant *c,
                                   char **stored)
{
    int64_t begin = shared_of(c), span = begin + stored_span(c);
    int64_t bytes = vbs_elements_bytes(c->values.element, span);
    int64_t skipped = vbs_elements_bytes(c->values.element, c->values.first - begin);
    int64_t offset = c->values.offset + skipped;
    enum vbs_status status = VBS_OK;
    char *data;

    if (stored_span(c) > VBS_ONNX_MAX_NUMBERS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "'%.100s' is too large to compute with", c->name);
    VBS_TRY(vbs_onnx_numbers_read(im, stored_span(c)));
    if (!c->values.memory)
        VBS_TRY(vbs_source_keep(im->ctx, im->source, c->values.file, offset, bytes));
    data = malloc((size_t)bytes);
    if (!data)
        return vbs_no_memory(im->ctx);
    if (c->values.memory)
        memcpy(data, (const char *)c->values.memory + skipped, (size_t)bytes);
    else
        status = vbs_source_read(im->ctx, im->source, c->values.file, offset, bytes, data);
    if (status == VBS_OK)
        *stored = data;
    else
        free(data);
    return status;
}

enum vbs_status vbs_onnx_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                 const struct vbs_onnx_number **numbers)
{
    int64_t count = vbs_shape_elements(&c->shape), position[VBS_MAX_DIMS] = {0}, at = 0;
    struct vbs_onnx_number *made = NULL;
    char *stored = NULL;
    enum vbs_status status;

    *numbers = c->numbers;
    if (c->numbers)
        return VBS_OK;
    status = vbs_onnx_numbers_new(im, count, &made);
    if (status == VBS_OK && count > 0 && !is_fill(c))
        status = read_stored(im, c, &stored);
    for (int64_t i = 0; i < count && status == VBS_OK; i++) {
        made[i].value =
            stored ? number_at(c, stored, at) : vbs_onnx_rounded(c->type, c->values.fill);
        vbs_onnx_advance(&c->shape, c->stride, position, &at);
    }
    free(stored);
    if (status == VBS_OK)
        *numbers = c->numbers = made;
    return status;
}

/* ---- views ---- */

static struct vbs_onnx_constant *copy(struct vbs_onnx_import *im, const struct vbs_onnx_constant *c,
                                      const struct vbs_shape *shape)
{
    struct vbs_onnx_constant *made = vbs_arena_alloc(im->arena, 1, sizeof *made);

    if (!made)
        return NULL;
    *made = *c;
    made->shape = *shape;
    made->numbers = NULL;
    vbs_onnx_plain_strides(shape, made->stride);
    return made;
}

enum vbs_status vbs_onnx_constant_compute(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                          struct vbs_onnx_constant **computed)
{
    const struct vbs_onnx_number *numbers;
    enum vbs_status status = vbs_onnx_numbers(im, c, &numbers);

    *computed = c;
    if (status != VBS_OK || c->computed)
        return status;
    *computed = copy(im, c, &c->shape);
    if (!*computed)
        return vbs_no_memory(im->ctx);
    (*computed)->numbers = numbers;
    (*computed)->computed = true;
    return VBS_OK;
}

/* Copies the numbers of a view out of the numbers at from. */
static enum vbs_status view_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *view,
                                    const struct vbs_onnx_number *from, const int64_t *stride,
                                    int64_t offset)
{
    int64_t count = vbs_shape_elements(&view->shape), position[VBS_MAX_DIMS] = {0}, at = offset;
    struct vbs_onnx_number *made;

    VBS_TRY(vbs_onnx_numbers_new(im, count, &made));
    for (int64_t i = 0; i < count; i++) {
        made[i] = from[at];
        vbs_onnx_advance(&view->shape, stride, position, &at);
    }
    view->numbers = made;
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_view(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                       const struct vbs_shape *shape, const int64_t *stride,
                                       int64_t offset, struct vbs_onnx_constant **view)
{
    struct vbs_onnx_constant *made = copy(im, c, shape);

    if (!made)
        return vbs_no_memory(im->ctx);
    if (c->computed) {
        VBS_TRY(view_numbers(im, made, c->numbers, stride, offset));
    } else {
        for (int d = 0; d < shape->n_dims; d++)
            made->stride[d] = stride[d];
        made->values.first += offset;
    }
    *view = made;
    return VBS_OK;
}

/* Computes the strides of c's elements in another shape of as many elements; false where no strides
 * describe it. */
static bool reshape_strides(const struct vbs_onnx_constant *c, const struct vbs_shape *shape,
                            int64_t *stride)
{
    int64_t dim[VBS_MAX_DIMS], step[VBS_MAX_DIMS];
    int n = 0, i = 0, k = 0;

    for (int d = 0; d < c->shape.n_dims; d++)
        if (c->shape.dim[d] != 1) {
            dim[n] = c->shape.dim[d];
            step[n++] = c->stride[d];
        }
    vbs_onnx_plain_strides(shape, stride);
    while (i < n && k < shape->n_dims) {
        int old_end = i + 1, new_end = k + 1;
        int64_t old = dim[i], new = shape->dim[k];

        while (old != new) {
            if (new < old)
                new *= shape->dim[new_end++];
            else
                old *= dim[old_end++];
        }
        for (int d = i; d + 1 < old_end; d++)
            if (step[d] != dim[d + 1] * step[d + 1])
                return false;
        stride[new_end - 1] = step[old_end - 1];
        for (int d = new_end - 1; d > k; d--)
            stride[d - 1] = stride[d] * shape->dim[d];
        i = old_end;
        k = new_end;
    }
    return true;
}

enum vbs_status vbs_onnx_constant_reshape(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                          const struct vbs_shape *shape,
                                          struct vbs_onnx_constant **view)
{
    int64_t count = vbs_shape_elements(&c->shape), stride[VBS_MAX_DIMS];
    char from[64], to[64];

    if (count != vbs_shape_elements(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "a constant of shape %s cannot become %s",
                        vbs_onnx_shape_text(&c->shape, from, sizeof from),
                        vbs_onnx_shape_text(shape, to, sizeof to));
    vbs_onnx_plain_strides(shape, stride);
    if (!is_fill(c) && !c->computed && count > 0 && !reshape_strides(c, shape, stride))
        VBS_TRY(vbs_onnx_constant_compute(im, c, &c));
    if (!c->computed)
        return vbs_onnx_constant_view(im, c, shape, stride, 0, view);
    *view = copy(im, c, shape);
    if (!*view)
        return vbs_no_memory(im->ctx);
    (*view)->numbers = c->numbers;
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_expand(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                         const struct vbs_shape *shape,
                                         struct vbs_onnx_constant **view)
{
    int64_t stride[VBS_MAX_DIMS] = {0};
    int more = shape->n_dims - c->shape.n_dims;
    bool fits = more >= 0;
    char from[64], to[64];

    for (int d = 0; fits && d < c->shape.n_dims; d++) {
        int64_t dim = c->shape.dim[d];

        if (dim == shape->dim[d + more])
            stride[d + more] = c->stride[d];
        else
            fits = dim == 1;
    }
    if (!fits)
        return vbs_fail(im->ctx, VBS_FORMAT, "a constant of shape %s cannot be repeated to %s",
                        vbs_onnx_shape_text(&c->shape, from, sizeof from),
                        vbs_onnx_shape_text(shape, to, sizeof to));
    return vbs_onnx_constant_view(im, c, shape, stride, 0, view);
}

enum vbs_status vbs_onnx_constant_transpose(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                            const int *perm, struct vbs_onnx_constant **view)
{
    struct vbs_shape shape = {.n_dims = c->shape.n_dims};
    int64_t stride[VBS_MAX_DIMS];

    for (int d = 0; d < shape.n_dims; d++) {
        shape.dim[d] = c->shape.dim[perm[d]];
        stride[d] = c->stride[perm[d]];
    }
    return vbs_onnx_constant_view(im, c, &shape, stride, 0, view);
}

/* Gives whether all entries of dimension d of a constant are equal. */
static enum vbs_status are_copies(struct vbs_onnx_import *im, struct vbs_onnx_constant *c, int d,
                                  bool *equal)
{
    int64_t count = vbs_shape_elements(&c->shape), stride[VBS_MAX_DIMS], run;
    const struct vbs_onnx_number *numbers;

    *equal = !c->computed && c->stride[d] == 0;
    if (*equal || count > VBS_ONNX_MAX_NUMBERS || count == 0)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers(im, c, &numbers));
    vbs_onnx_plain_strides(&c->shape, stride);
    run = stride[d] * c->shape.dim[d];
    *equal = true;
    for (int64_t i = 0; i < count && *equal; i++) {
        const struct vbs_onnx_number *first = &numbers[i / run * run + i % stride[d]];

        *equal = numbers[i].value == first->value && numbers[i].batch == first->batch &&
                 numbers[i].own == first->own;
    }
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_copy(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                       int d, struct vbs_onnx_constant **one)
{
    struct vbs_shape shape = c->shape;
    bool equal;

    *one = NULL;
    VBS_TRY(are_copies(im, c, d, &equal));
    shape.dim[d] = 1;
    return equal ? vbs_onnx_constant_view(im, c, &shape, c->stride, 0, one) : VBS_OK;
}

/* ---- floats ---- */

/* Describes where the values of a constant are stored. */
static void place_values(const struct vbs_onnx_constant *c, struct vbs_values *values)
{
    *values = c->values;
    values->name = c->name;
    values->count = vbs_shape_elements(&c->shape);
    if (c->computed || is_fill(c) || is_plain(&c->shape, c->stride))
        return;
    values->n_dims = c->shape.n_dims;
    for (int d = 0; d < values->n_dims; d++) {
        values->dim[d] = c->shape.dim[d];
        values->stride[d] = c->stride[d];
    }
}

bool vbs_onnx_is_stored(const struct vbs_onnx_constant *c)
{
    return !c->computed && !is_fill(c) && is_plain(&c->shape, c->stride);
}

enum vbs_status vbs_onnx_floats_new(struct vbs_onnx_import *im,
                                    const struct vbs_onnx_constant *like,
                                    const struct vbs_shape *shape,
                                    struct vbs_onnx_constant **constant, float **floats)
{
    int64_t count = vbs_shape_elements(shape);
    struct vbs_onnx_constant *made = copy(im, like, shape);
    float *values;

    if (count > VBS_ONNX_MAX_ALL_FLOATS - im->n_floats)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "constants are too large to compute with");
    im->n_floats += count;
    values = vbs_source_alloc(im->source, (size_t)count + 1, sizeof *values);
    if (!made || !values)
        return vbs_no_memory(im->ctx);
    made->computed = false;
    made->values = (struct vbs_values){
        .name = like->name, .element = VBS_F32, .count = count, .memory = values, .file = -1};
    *constant = made;
    *floats = values;
    return VBS_OK;
}

/* Returns whether a number of an input depends on the number of samples. */
static bool depends_on_samples(const struct vbs_onnx_import *im)
{
    for (int i = 0; i < im->node->n_inputs; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, i);
        const struct vbs_onnx_constant *c = state ? state->constant : NULL;

        for (int64_t k = 0; c && c->computed && k < vbs_shape_elements(&c->shape); k++)
            if (c->numbers[k].batch)
                return true;
    }
    return false;
}

bool vbs_onnx_is_many(const struct vbs_onnx_import *im, int type, int64_t count)
{
    bool rounds = !vbs_onnx_is_whole(type) && type != ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;

    return count > VBS_ONNX_MAX_NUMBERS || (rounds && count > MANY && !depends_on_samples(im));
}

static enum vbs_status refuse_inexact(struct vbs_onnx_import *im)
{
    return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                    "computes with a constant of more than %d whole numbers, of which one is not "
                    "below 2^24",
                    VBS_ONNX_MAX_NUMBERS);
}

enum vbs_status vbs_onnx_round_many(struct vbs_onnx_import *im, int type, long double value,
                                    float *rounded)
{
    long double made = vbs_onnx_rounded(type, value);

    if (vbs_onnx_is_whole(type) && fabsl(made) >= EXACT)
        return refuse_inexact(im);
    *rounded = (float)made;
    return VBS_OK;
}

enum vbs_status vbs_onnx_floats_read(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                     float *floats)
{
    int64_t count = vbs_shape_elements(&c->shape);
    struct vbs_extent extent;
    struct vbs_values values;

    for (int64_t i = 0; c->computed && i < count; i++) {
        if (c->numbers[i].batch)
            return vbs_onnx_counts(im);
        floats[i] = (float)c->numbers[i].value;
    }
    if (!c->computed && count > 0) {
        place_values(c, &values);
        values.unchecked = true;
        extent = vbs_values_extent(&values);
        if (extent.bytes > 0)
            VBS_TRY(vbs_source_keep(im->ctx, im->source, values.file, extent.offset, extent.bytes));
        VBS_TRY(vbs_values_read(im->ctx, im->source, &values, 0, count, floats));
    }
    for (int64_t i = 0; vbs_onnx_is_wide(c->type) && i < count; i++)
        if (fabsf(floats[i]) >= (float)EXACT)
            return refuse_inexact(im);
    return VBS_OK;
}

/* ---- what layers take ---- */

/* Copies the numbers of a constant, as floats, into memory that lives as long as the network. */
static enum vbs_status keep_numbers(struct vbs_onnx_import *im, const struct vbs_onnx_constant *c,
                                    struct vbs_values *values)
{
    float *kept = vbs_source_alloc(im->source, (size_t)values->count, sizeof *kept);

    if (!kept)
        return vbs_no_memory(im->ctx);
    for (int64_t i = 0; i < values->count; i++) {
        if (c->numbers[i].batch)
            return vbs_onnx_counts(im);
        kept[i] = (float)c->numbers[i].value;
    }
    values->element = VBS_F32;
    values->file = -1;
    values->memory = kept;
    return VBS_OK;
}

enum vbs_status vbs_onnx_parameter(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                   double factor, const struct vbs_values **values)
{
    struct vbs_values *made = vbs_source_alloc(im->source, 1, sizeof *made);

    if (!made)
        return vbs_no_memory(im->ctx);
    if (c->copies > 0) /* as many as samples, where a layer has one */
        return vbs_onnx_counts(im);
    place_values(c, made);
    made->factor = factor;
    if (c->computed)
        VBS_TRY(keep_numbers(im, c, made));
    *values = made;
    return VBS_OK;
}

enum vbs_status vbs_onnx_scalar(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                double *value)
{
    const struct vbs_onnx_number *numbers;

    VBS_TRY(vbs_onnx_numbers(im, c, &numbers));
    if (vbs_shape_elements(&c->shape) != 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "'%.100s' is to be one number", c->name);
    if (numbers[0].batch)
        return vbs_onnx_counts(im);
    if (!isfinite(numbers[0].value))
        return vbs_fail(im->ctx, VBS_FORMAT, "'%.100s' is %s", c->name,
                        isnan(numbers[0].value) ? "no number" : "infinite");
    *value = (double)numbers[0].value;
    return VBS_OK;
}

int64_t vbs_onnx_clamp(long double value)
{
    return value >= 0x1p63L    ? INT64_MAX
           : value <= -0x1p63L ? INT64_MIN
           : isnan(value)      ? 0
                               : (int64_t)value;
}

enum vbs_status vbs_onnx_whole_numbers(struct vbs_onnx_import *im, struct vbs_onnx_constant *c,
                                       int most, int64_t *values, int *n)
{
    const struct vbs_onnx_number *numbers;
    int64_t count = vbs_shape_elements(&c->shape);

    if (c->shape.n_dims > 1 || !vbs_onnx_is_whole(c->type))
        return vbs_fail(im->ctx, VBS_FORMAT, "'%.100s' is no list of whole numbers", c->name);
    if (count > most)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "'%.100s' has %lld values, more than %d", c->name,
                        (long long)count, most);
    VBS_TRY(vbs_onnx_numbers(im, c, &numbers));
    for (int i = 0; i < (int)count; i++) {
        if (numbers[i].batch)
            return vbs_onnx_counts(im);
        values[i] = vbs_onnx_clamp(numbers[i].value);
    }
    *n = (int)count;
    return VBS_OK;
}

/* ---- constants that nodes read and give ---- */

enum vbs_status vbs_onnx_numbers_in(struct vbs_onnx_import *im, int index,
                                    struct vbs_onnx_constant **constant,
                                    const struct vbs_onnx_number **numbers)
{
    VBS_TRY(vbs_onnx_constant_in(im, index, constant));
    return vbs_onnx_numbers(im, *constant, numbers);
}

enum vbs_status vbs_onnx_known_in(struct vbs_onnx_import *im, int index,
                                  struct vbs_onnx_constant **constant,
                                  const struct vbs_onnx_number **numbers)
{
    VBS_TRY(vbs_onnx_numbers_in(im, index, constant, numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&(*constant)->shape); i++)
        if ((*numbers)[i].batch)
            return vbs_onnx_counts(im);
    return VBS_OK;
}

enum vbs_status vbs_onnx_give_numbers(struct vbs_onnx_import *im, int type,
                                      const struct vbs_shape *shape,
                                      const struct vbs_onnx_number *numbers)
{
    struct vbs_onnx_constant *made;

    VBS_TRY(vbs_onnx_constant_new(im, type, shape, numbers, &made));
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}
