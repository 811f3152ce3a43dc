/* Constants that are Fourier transforms, and windows for them. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* Numbers [outer, length, inner, parts] that are transformed along length. */
struct dft_lines {
    const union vbs_attributes *a;
    int64_t outer, length, inner, kept;
    int64_t parts, parts_out; /* of a number of the input, and of the output */
    struct vbs_fourier fourier;
    double *line, *space;
};

static void transform_line(const struct dft_lines *l, int type, const number *x, number *y)
{
    int64_t n = l->fourier.n, given = n < l->length ? n : l->length;

    for (int64_t j = 0; j < n; j++)
        for (int part = 0; part < 2; part++)
            l->line[2 * j + part] =
                j < given && part < l->parts ? (double)x[j * l->inner * l->parts + part].value : 0;
    if (l->a->dft.inverse && l->a->dft.onesided)
        vbs_fourier_complete(n, l->line);
    vbs_fourier_run(&l->fourier, l->a->dft.inverse, l->line, l->space);
    for (int64_t k = 0; k < l->kept; k++)
        for (int part = 0; part < l->parts_out; part++)
            y[l->parts_out * k * l->inner + part].value =
                vbs_onnx_rounded(type, l->line[2 * k + part]);
}

/* Takes the space of a transform. */
static enum vbs_status take_space(struct vbs_onnx_import *im, struct dft_lines *l)
{
    int64_t n = l->a->dft.n, table = vbs_fourier_table(n), space = vbs_fourier_space(n);
    double *memory = vbs_arena_alloc(im->arena, (size_t)(table + space + 2 * n), sizeof *memory);

    if (!memory)
        return vbs_no_memory(im->ctx);
    l->line = memory + table;
    l->space = l->line + 2 * n;
    vbs_fourier_init(n, memory, l->space, &l->fourier);
    return VBS_OK;
}

static struct dft_lines lines_of(const union vbs_attributes *a, const struct vbs_shape *from,
                                 const struct vbs_shape *to)
{
    int axis = a->dft.axis, last = from->n_dims - 1;
    struct dft_lines l = {.a = a,
                          .outer = 1,
                          .length = from->dim[axis],
                          .inner = 1,
                          .kept = to->dim[axis],
                          .parts = from->dim[last],
                          .parts_out = to->dim[last]};

    for (int d = 0; d < last; d++) {
        if (d < axis)
            l.outer *= from->dim[d];
        else if (d > axis)
            l.inner *= from->dim[d];
    }
    return l;
}

VBS_ONNX_HANDLER(fold_dft)
{
    union vbs_attributes a = {.dft = {.n = 0}};
    struct vbs_operation operation = {.op = VBS_OP_DFT, .n_inputs = 1};
    struct vbs_shape shape;
    constant *input;
    const number *x;
    struct dft_lines l;
    number *y;
    int64_t axis, work;

    (void)operator;
    VBS_TRY(vbs_onnx_read_dft(im, &a, &axis));
    VBS_TRY(vbs_onnx_known_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_constant_axis(im, axis, input->shape.n_dims, &a.dft.axis));
    if (!vbs_shape_valid(&input->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no elements");
    vbs_onnx_default_dft(&a, input->shape.dim[a.dft.axis]);
    operation.inputs = &input->shape;
    VBS_TRY(vbs_operation_shape(im->ctx, &operation, &a, &shape));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    l = lines_of(&a, &input->shape, &shape);
    /* an element takes as long as many products */
    if (!vbs_mul(l.outer * l.inner, 32 * a.dft.n, &work))
        work = INT64_MAX;
    VBS_TRY(vbs_onnx_numbers_read(im, work));
    VBS_TRY(take_space(im, &l));
    for (int64_t i = 0; i < l.outer * l.inner; i++) {
        int64_t outer = i / l.inner, inner = i % l.inner;

        transform_line(&l, input->type, x + (outer * l.length * l.inner + inner) * l.parts,
                       y + (outer * l.kept * l.inner + inner) * l.parts_out);
    }
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}

/* ---- STFT ---- */

/* Transforms the pieces of one signal, [elements, parts]. piece: space for one. */
static void transform_frames(const struct dft_lines *l, int type, const struct vbs_onnx_frames *f,
                             const number *x, const number *window, number *piece, number *y)
{
    for (int64_t i = 0; i < f->n; i++, y += l->kept * l->parts_out) {
        for (int64_t k = 0; k < f->length * l->parts; k++) {
            piece[k] = x[i * f->step * l->parts + k];
            if (window)
                piece[k].value *= window[k / l->parts].value;
        }
        transform_line(l, type, piece, y);
    }
}

VBS_ONNX_HANDLER(fold_stft)
{
    union vbs_attributes a = {.dft = {.onesided = vbs_onnx_int(im, "onesided", 1) != 0}};
    struct vbs_operation operation = {.op = VBS_OP_DFT, .n_inputs = 1};
    struct vbs_shape shape = {.n_dims = 4}, piece_shape = {.n_dims = 2}, made;
    const number *x, *window = NULL;
    constant *input, *given;
    struct vbs_onnx_frames f;
    number *y, *piece;
    int64_t n_in, n_out;
    struct dft_lines l;

    (void)operator;
    VBS_TRY(vbs_onnx_known_in(im, 0, &input, &x));
    if (input->shape.n_dims != 3 || !vbs_shape_valid(&input->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its signal has %d dimensions, not 3",
                        input->shape.n_dims);
    VBS_TRY(vbs_onnx_read_frames(im, input->shape.dim[1], &f));
    if (f.window)
        VBS_TRY(vbs_onnx_known_in(im, 2, &given, &window));
    a.dft.n = piece_shape.dim[0] = f.length;
    piece_shape.dim[1] = input->shape.dim[2];
    operation.inputs = &piece_shape;
    VBS_TRY(vbs_operation_shape(im->ctx, &operation, &a, &made));
    shape = (struct vbs_shape){4, {input->shape.dim[0], f.n, made.dim[0], made.dim[1]}};
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    VBS_TRY(vbs_onnx_numbers_read(im, 32 * vbs_shape_elements(&shape)));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&piece_shape), &piece));
    l = lines_of(&a, &piece_shape, &made);
    VBS_TRY(take_space(im, &l));
    n_in = vbs_shape_elements(&input->shape) / shape.dim[0];
    n_out = vbs_shape_elements(&shape) / shape.dim[0];
    for (int64_t i = 0; i < shape.dim[0]; i++)
        transform_frames(&l, input->type, &f, x + i * n_in, window, piece, y + i * n_out);
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}

/* ---- windows ---- */

/* Makes a window of a + b cos t + c cos 2 t, t going from 0 to 2 pi. */
VBS_ONNX_HANDLER(fold_window)
{
    static const double TERMS[][3] = {[VBS_ONNX_HANN] = {0.5, -0.5, 0},
                                      [VBS_ONNX_HAMMING] = {25.0 / 46, -21.0 / 46, 0},
                                      [VBS_ONNX_BLACKMAN] = {0.42, -0.5, 0.08}};
    const double *terms = TERMS[operator->op];
    int type = (int)vbs_onnx_int(im, "output_datatype", FLOAT);
    bool periodic = vbs_onnx_int(im, "periodic", 1) != 0;
    struct vbs_shape shape = {.n_dims = 1};
    constant *size;
    double n, length;
    number *y;

    VBS_TRY(vbs_onnx_constant_in(im, 0, &size));
    VBS_TRY(vbs_onnx_scalar(im, size, &n));
    if (!(n >= 1 && n <= VBS_ONNX_MAX_NUMBERS))
        return vbs_fail(im->ctx, VBS_FORMAT, "a window of %.0f elements", n);
    shape.dim[0] = (int64_t)n;
    length = n - (periodic ? 0 : 1);
    VBS_TRY(vbs_onnx_numbers_new(im, shape.dim[0], &y));
    for (int64_t i = 0; i < shape.dim[0]; i++) {
        double t = length > 0 ? 2 * acos(-1.0) * (double)i / length : 0;

        y[i].value = vbs_onnx_rounded(type, terms[0] + terms[1] * cos(t) + terms[2] * cos(2 * t));
    }
    return vbs_onnx_give_numbers(im, type, &shape, y);
}
