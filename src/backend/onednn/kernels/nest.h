/*
 * Loops for operations of which oneDNN has no primitive: a nest of loops over up to three operands,
 * cut into rows that threads share.
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_NEST_H
#define VBS_BACKEND_ONEDNN_KERNELS_NEST_H

#include <stdint.h>

#define OD_MAX_AXES 12 /* enough for a sample's dimensions, the batch and blocks of channels */
#define OD_OPERANDS 3  /* 0 is written, the others are read */

/* In a table, stands for no position. It stays negative when offsets are added. */
#define OD_NOTHING (-(INT64_C(1) << 56))

struct od_axis {
    int64_t n;
    int64_t stride[OD_OPERANDS]; /* values from one position to the next */
    /* [n] values from the first position, instead of stride; null: stride holds. */
    const int64_t *table[OD_OPERANDS];
};

/* Loops, the outermost first; the last one is a row. */
struct od_nest {
    int n_axes;
    struct od_axis axes[OD_MAX_AXES];
    int64_t start[OD_OPERANDS];
    int64_t cost;  /* of a position, in copied values; 0: 1 */
    int64_t bytes; /* of a value, in all operands; 0: those of a float */
};

/*
 * Computes a segment of a row: n positions from position first on, in which operands advance as
 * axis says. at[i] is the address of the row's position 0 in operand i, or null where the operand
 * has none.
 */
typedef void od_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                    void *const *at);

/* Appends an axis; the caller keeps to OD_MAX_AXES. */
struct od_axis *od_nest_add(struct od_nest *nest, int64_t n);

/* Appends an axis with a stride for each operand. */
void od_nest_add_strided(struct od_nest *nest, int64_t n, int64_t to, int64_t a, int64_t b);

/* Replaces evenly spaced tables by strides, removes axes of one position, and joins axes that
 * follow each other without a gap. At least one axis is left. */
void od_nest_simplify(struct od_nest *nest);

/* Runs row over all rows, with as many threads as OpenMP would use where this pays. data: addresses
 * of the operands; those that nest does not use may be null. */
void od_nest_run(const struct od_nest *nest, od_row *row, const void *plan, float *const *data);

/* Runs body(job, thread, threads) on all threads, numbered from 0. */
void od_on_threads(void (*body)(void *job, int64_t thread, int64_t threads), void *job);

/* Runs body(job, i) for i = 0 .. n - 1, by several threads where work, in copied floats, pays. */
void od_parallel(int64_t n, int64_t work, void (*body)(void *job, int64_t i), void *job);

/* Gives position i of an axis, in values of operand. */
static inline int64_t od_axis_at(const struct od_axis *axis, int operand, int64_t i)
{
    return axis->table[operand] ? axis->table[operand][i] : i * axis->stride[operand];
}

#endif
