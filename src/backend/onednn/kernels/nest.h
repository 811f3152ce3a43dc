/*
 * What oneDNN has no primitive for is done by plain functions on floats. They share this: a nest of
 * loops over up to three operands, cut into rows that threads share.
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_NEST_H
#define VBS_BACKEND_ONEDNN_KERNELS_NEST_H

#include <stdint.h>

#define OD_MAX_AXES 12 /* a sample's dimensions, the batch, blocks of channels; to spare */
#define OD_OPERANDS 3  /* 0 is written, the others are read */

/* In a table: there is nothing at this position. Sums of it with offsets stay negative. */
#define OD_NOTHING (-(INT64_C(1) << 56))

struct od_axis {
    int64_t n;
    int64_t stride[OD_OPERANDS]; /* floats from one position to the next */
    /* [n] floats from the first position, in place of the stride; null: the stride. */
    const int64_t *table[OD_OPERANDS];
};

/* Loops, the outermost first; the last one is a row. */
struct od_nest {
    int n_axes;
    struct od_axis axes[OD_MAX_AXES];
    int64_t start[OD_OPERANDS];
    int64_t cost; /* of a position, in copied floats; 0: 1 */
};

/*
 * A segment of a row: n positions, in which operands go on as axis says, from position first on.
 * at[i] is where operand i has the row's position 0, or null where it has nothing.
 */
typedef void od_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                    float *const *at);

/* Appends an axis; the caller keeps to OD_MAX_AXES. */
struct od_axis *od_nest_add(struct od_nest *nest, int64_t n);

/* Appends an axis on which operand i has strides[i]. */
void od_nest_add_strided(struct od_nest *nest, int64_t n, int64_t to, int64_t a, int64_t b);

/* Tables that are straight become strides; axes of one position go, and those that follow each
 * other without a gap become one. At least one axis is left. */
void od_nest_simplify(struct od_nest *nest);

/* Runs row over all rows, by as many threads as OpenMP would take where that pays. data: of the
 * operands; those that nest does not use may be null. */
void od_nest_run(const struct od_nest *nest, od_row *row, const void *plan, float *const *data);

/* Runs body(job, i) for i = 0 .. n - 1, by several threads where work, in copied floats, pays. */
void od_parallel(int64_t n, int64_t work, void (*body)(void *job, int64_t i), void *job);

/* Position i of an axis, in floats of operand. */
static inline int64_t od_axis_at(const struct od_axis *axis, int operand, int64_t i)
{
    return axis->table[operand] ? axis->table[operand][i] : i * axis->stride[operand];
}

#endif
