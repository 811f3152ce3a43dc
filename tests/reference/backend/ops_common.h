/* Functions that the files of the reference share. Shapes are the views in which a layer reads its
 * inputs. */
#ifndef TESTS_OPS_COMMON_H
#define TESTS_OPS_COMMON_H

#include "vbslab/backend.h"

/* A layer of a network. */
struct subject {
    const struct vbs_network *network;
    int layer;
    const struct vbs_layer *l;
};

/* Gives all n values of a parameter, fused < 0: of the layer's own operator; the caller frees them.
 * Null: out of memory. */
float *subject_values(const struct subject *s, int fused, enum vbs_parameter what, int64_t n);

/* Convert position number i of a shape to indices, and back. */
void indices_of(const struct vbs_shape *shape, int64_t i, int64_t *index);
int64_t number_of(const struct vbs_shape *shape, const int64_t *index);

/* Compute operators, by their class; false: out of memory. */
bool reference_conv(const struct subject *s, const float *x, float *y);
bool reference_deconv(const struct subject *s, const float *x, float *y);
bool reference_pool(const struct subject *s, const float *x, float *y);
double reference_unary(enum vbs_op op, const union vbs_attributes *a, double x);
bool reference_binary(const struct subject *s, const float *const *inputs, float *y);
bool reference_reduce(const struct subject *s, const float *x, float *y);
bool reference_move(const struct subject *s, const float *x, float *y);
bool reference_resize(const struct subject *s, const float *x, float *y);
void reference_grid_sample(const struct subject *s, const float *const *inputs, float *y);
bool reference_deform_conv(const struct subject *s, const float *const *inputs, float *y);
void reference_dft(const struct subject *s, const float *x, float *y);
bool reference_recurrent(const struct subject *s, const float *const *inputs, float *y);

#endif
