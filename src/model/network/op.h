/* The table of operators behind VBS_OP_LIST. */
#ifndef VBS_MODEL_NETWORK_OP_H
#define VBS_MODEL_NETWORK_OP_H

#include "vbslab/model.h"

struct vbs_op_info {
    const char *word;
    enum vbs_op_class class;
    int fewest_inputs;
    int most_inputs; /* 0: any number */
    bool fused;      /* runs in place and joins the layer before it */
};

const struct vbs_op_info *vbs_op_info(enum vbs_op op);

/* Of the operators of model texts; false when none has this word. */
bool vbs_op_find(const char *word, enum vbs_op *op);

/* The operator word that is nearest to word, or null. */
const char *vbs_op_nearest(const char *word);

#endif
