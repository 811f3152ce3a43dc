#include "model/network/shape.h"

#include "base/arith.h"
#include "base/fail.h"

#include <stdio.h>
#include <string.h>

int64_t vbs_shape_elements(const struct vbs_shape *shape)
{
    int64_t elements = 1;

    for (int i = 0; i < shape->n_dims; i++)
        elements *= shape->dim[i];
    return elements;
}

int vbs_shape_n_spatial(const struct vbs_shape *shape)
{
    return shape->n_dims - 1;
}

bool vbs_shape_equal(const struct vbs_shape *a, const struct vbs_shape *b)
{
    if (a->n_dims != b->n_dims)
        return false;
    for (int i = 0; i < a->n_dims; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

void vbs_shape_insert(struct vbs_shape *shape, int at)
{
    memmove(shape->dim + at + 1, shape->dim + at,
            (size_t)(shape->n_dims - at) * sizeof shape->dim[0]);
    shape->dim[at] = 1;
    shape->n_dims++;
}

void vbs_shape_drop(struct vbs_shape *shape, int at)
{
    shape->n_dims--;
    memmove(shape->dim + at, shape->dim + at + 1,
            (size_t)(shape->n_dims - at) * sizeof shape->dim[0]);
}

char *vbs_shape_format(const struct vbs_shape *shape, char *buffer, size_t size)
{
    size_t used = 0;

    if (size > 0)
        buffer[0] = '\0';
    for (int i = 0; i < shape->n_dims && used < size; i++) {
        int wrote =
            snprintf(buffer + used, size - used, i ? "x%lld" : "%lld", (long long)shape->dim[i]);
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return buffer;
}

static bool within(int64_t value, int64_t low)
{
    return value >= low && value <= VBS_MAX_DIM;
}

bool vbs_shape_valid(const struct vbs_shape *shape)
{
    int64_t elements = 1;

    if (shape->n_dims < 1 || shape->n_dims > VBS_MAX_DIMS)
        return false;
    for (int i = 0; i < shape->n_dims; i++)
        if (!within(shape->dim[i], 1) || !vbs_mul(elements, shape->dim[i], &elements) ||
            elements > VBS_MAX_ELEMENTS)
            return false;
    return true;
}

/* Reads digits at *text as a number from 1 on; a number stops growing above VBS_MAX_DIM. */
static int64_t read_dim(const char **text)
{
    int64_t dim = 0;

    for (; **text >= '0' && **text <= '9'; (*text)++)
        if (dim <= VBS_MAX_DIM)
            dim = 10 * dim + (**text - '0');
    return dim;
}

enum vbs_status vbs_shape_parse(struct vbs_ctx *ctx, const char *text, struct vbs_shape *shape)
{
    struct vbs_shape parsed = {0};
    const char *at = text;

    for (;;) {
        int64_t dim = parsed.n_dims < VBS_MAX_DIMS ? read_dim(&at) : 0;

        if (dim == 0)
            break;
        parsed.dim[parsed.n_dims++] = dim;
        if (*at == '\0') {
            if (!vbs_shape_valid(&parsed))
                return vbs_fail(ctx, VBS_USAGE,
                                "shape '%.60s' is too large; it may have 2^36 elements", text);
            *shape = parsed;
            return VBS_OK;
        }
        if (*at++ != 'x')
            break;
    }
    return vbs_fail(ctx, VBS_USAGE,
                    "'%.60s' is not a shape; write channels and up to three sizes above 0, as "
                    "3x224x224",
                    text);
}
