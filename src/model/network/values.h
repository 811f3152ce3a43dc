/*
 * The values of parameters: in a file, from which they are read when they are needed, or in memory.
 */
#ifndef VBS_MODEL_NETWORK_VALUES_H
#define VBS_MODEL_NETWORK_VALUES_H

#include "vbslab/model.h"

#include "model/network/source.h"

/* The element types of stored values; all are converted to floats. */
enum vbs_element {
    VBS_F32,
    VBS_F64,
    VBS_F16,
    VBS_BF16,
    VBS_I8,
    VBS_U8,
    VBS_I16,
    VBS_U16,
    VBS_I32,
    VBS_U32,
    VBS_I64,
    VBS_U64,
    VBS_I4, /* two in a byte, the first one in its lower half */
    VBS_U4,
    VBS_N_ELEMENTS
};

/* Gives the bits of one element, and the bytes of count elements, of which the first one begins a
 * byte. */
int vbs_element_bits(enum vbs_element element);
int64_t vbs_elements_bytes(enum vbs_element element, int64_t count);

/* Gives element number index of those that begin at at, which may be any address. They are
 * little-endian. A long double holds every element exactly where it has 64 bits for digits. */
long double vbs_element_value(enum vbs_element element, const void *at, int64_t index);

/* What the numbers of quantised weights stand for: stored number q for (q - zero) * scale. Element
 * i has position p = i / run % extent along the dimension that the scales follow, and scale and
 * zero number
 *     i / (run * extent) * outer_step + p / block * block_step + i % run * inner_step,
 * which is 0 for all elements where they have one scale. The steps are 0 or more. */
struct vbs_grid {
    int64_t run, extent, block; /* each at least 1 */
    int64_t outer_step, block_step, inner_step;
    const float *scales;
    const float *zeros; /* null: all are 0 */
    int64_t origin;     /* the element that is element 0 of these */
};

/* Gives the number of the scale and zero of an element. */
int64_t vbs_grid_place(const struct vbs_grid *grid, int64_t element);

/* Replaces count numbers, of which the first one is element number first, by what they stand for.
 * Complexity: O(count). */
void vbs_grid_apply(const struct vbs_grid *grid, int64_t first, int64_t count, float *values);

/* Values of a parameter, and their place. */
struct vbs_values {
    const char *name; /* of the initialiser, for messages */
    enum vbs_element element;
    int64_t count;
    /* Where file is below 0 and memory is null, every value is fill. Else the values are
     * little-endian elements in memory, or in file number file of the source from byte offset on.
     */
    double fill;
    const void *memory;
    int file;
    int64_t offset;
    int64_t first; /* the element there that is element 0 in the following */
    /* Value i of the parameter is element sum over d of digit d of i (row-major in dim) *
     * stride[d]; where n_dims is 0 it is element i. In this way a transposed matrix is read as it
     * is stored. */
    int n_dims;
    int64_t dim[VBS_MAX_DIMS], stride[VBS_MAX_DIMS];
    const struct vbs_grid *grid; /* null: the elements stand for themselves */
    /* Values are multiplied by this after reading, where it is not 0 (alpha of Gemm). */
    double factor;
    bool infinite;  /* values may be infinite, as in masks that are added */
    bool unchecked; /* values may be infinite or no numbers: others are computed of them */
};

/* Returns how many values are best asked for at once: a quarter of a million, or as many as it
 * takes for a call of the system to bring 1024 elements, up to 4 million. */
int64_t vbs_values_at_once(const struct vbs_values *values);

/* Gives the bytes of the file that hold the values; none where no file does. */
struct vbs_extent vbs_values_extent(const struct vbs_values *values);

/* Returns the values first..first+count-1 as floats. VBS_IO, VBS_FORMAT (a value is not finite, or
 * is no number), VBS_NO_MEMORY. Where the strides are not those of dim, blocks of a quarter MiB are
 * read with the gaps in them, but gaps of more than 4096 elements are left out. Complexity:
 * O(count) in the order in which they are stored; else O(count + gaps), and a call of the system
 * for each run of neighbours: whoever asks for vbs_values_at_once values has long runs. */
enum vbs_status vbs_values_read(struct vbs_ctx *ctx, const struct vbs_source *source,
                                const struct vbs_values *values, int64_t first, int64_t count,
                                float *out) VBS_MUST_CHECK;

#endif
