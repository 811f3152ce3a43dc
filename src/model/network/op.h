/* The table of operators behind VBS_OP_LIST. */
#ifndef VBS_MODEL_NETWORK_OP_H
#define VBS_MODEL_NETWORK_OP_H

#include "vbslab/model.h"

struct vbs_op_info {
    const char *word;
    enum vbs_op_class class;
    int fewest_inputs;
    int most_inputs; /* 0: any number is allowed */
    bool fused;      /* runs in place and joins the layer before it */
};

const struct vbs_op_info *vbs_op_info(enum vbs_op op);

/* Returns whether the operator's work is sums of products, which a layer's macs count. */
bool vbs_op_multiplies(enum vbs_op op);

/* Returns whether windows of the operator move over its input. */
bool vbs_op_has_windows(enum vbs_op op);

/* Returns the windows among the attributes of an operator; null: it has none. */
struct vbs_window *vbs_op_windows(enum vbs_op op, union vbs_attributes *attributes);

/* Finds an operator of model texts by its word; false where there is none. */
bool vbs_op_find(const char *word, enum vbs_op *op);

/* Gives the word of an operator of model texts that is most similar to word, or null. */
const char *vbs_op_nearest(const char *word);

/* Returns whether a function within a recurrent operator has an alpha, or a beta. */
bool vbs_cell_has_alpha(enum vbs_cell_kind kind);
bool vbs_cell_has_beta(enum vbs_cell_kind kind);

#endif
