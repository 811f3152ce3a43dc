/* The equation of an Einsum, such as "bij,bjk->bik". Internal to the reading of ONNX. */
#ifndef VBS_MODEL_ONNX_OPERATORS_EQUATION_H
#define VBS_MODEL_ONNX_OPERATORS_EQUATION_H

#include "vbslab/model.h"

#define VBS_ONNX_LETTERS 52
/* The last labels are dimensions of an ellipsis. */
#define VBS_ONNX_LABELS (VBS_ONNX_LETTERS + VBS_MAX_DIMS + 1)

/* The labels of the dimensions of an input, or of the output. */
struct vbs_onnx_term {
    int n;
    int label[VBS_MAX_DIMS + 1];
};

struct vbs_onnx_equation {
    const char *next; /* the text that is still to be read, without blanks */
    int64_t size[VBS_ONNX_LABELS];
    int count[VBS_ONNX_LABELS]; /* how often the inputs have each label */
    int n_hidden;               /* dimensions of the longest ellipsis */
    int n_labels;               /* those of the output first, then those that are summed over */
    int labels[VBS_ONNX_LABELS];
};

/* Reads the term of input number index, of n dimensions, and learns the sizes of its labels. False:
 * the text does not suit them. */
bool vbs_onnx_read_factor(struct vbs_onnx_equation *e, int index, const int64_t *dims, int n,
                          struct vbs_onnx_term *term);

/* Reads what is behind the inputs, the term of the output. Without one it has the ellipsis and, in
 * their order, the labels that the inputs have once. False: the text is wrong. */
bool vbs_onnx_read_result(struct vbs_onnx_equation *e, struct vbs_onnx_term *result);

#endif
