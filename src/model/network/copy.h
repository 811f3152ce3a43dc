/* Copies of networks that depend on no file and on no memory of the caller: the operators are added
 * to a builder again, with values in memory. */
#ifndef VBS_MODEL_NETWORK_COPY_H
#define VBS_MODEL_NETWORK_COPY_H

#include "model/network/network.h"

/* What is different in a copy. Parameters of the layer's own operator have fused below 0. */
struct vbs_network_change {
    void *self;
    /* Changes the node of a layer's own operator before it is added; null: nothing is changed. The
     * node borrows what it is given until the next call. */
    enum vbs_status (*node)(void *self, int layer, struct vbs_node *node);
    /* Gives whether a fused operator is left out; null: none is. */
    bool (*skip)(void *self, int layer, int fused);
    /* Gives whether an operator that copies it reads what an operator makes, and is one more output
     * of the copy; null: none does. What is fused with it becomes a layer of its own then. */
    bool (*tap)(void *self, int layer, int fused);
    /* Gives the number of values of a parameter; 0: the operator does not have it, or the copy has
     * seeded values. */
    int64_t (*count)(void *self, int layer, int fused, enum vbs_parameter what);
    /* Gives all values of a parameter that has some. */
    enum vbs_status (*values)(void *self, int layer, int fused, enum vbs_parameter what,
                              int64_t count, float *values);
};

/* Makes a changed copy of a network. The operators keep their names and their order, but for those
 * that are left out or added. VBS_NO_MEMORY;
 * errors of the calls of change, and of adding the operators. */
enum vbs_status vbs_network_copy(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_network_change *change,
                                 struct vbs_network **copy) VBS_MUST_CHECK;

#endif
