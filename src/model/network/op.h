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

/* Finds an operator of model texts by its word; false where there is none. */
bool vbs_op_find(const char *word, enum vbs_op *op);

/* Gives the word of an operator of model texts that is most similar to word, or null. */
const char *vbs_op_nearest(const char *word);

#endif
