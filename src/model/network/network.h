/*
 * What the readers of files use to make networks: the table of operators (op.h), shapes (shape.h),
 * the values of parameters (values.h), and the builder.
 *
 * A network is built operator by operator, as readers of files meet them. Shapes are inferred and
 * checked at once; fusion is settled at the end, when all readers of a tensor are known.
 */
#ifndef VBS_MODEL_NETWORK_NETWORK_H
#define VBS_MODEL_NETWORK_NETWORK_H

#include "vbslab/model.h"

#include "model/network/op.h"
#include "model/network/shape.h"
#include "model/network/values.h"

/* An operator as a file lists it. */
struct vbs_node {
    enum vbs_op op;
    const char *name;
    int n_inputs;
    const int *inputs; /* operators by number from 1 in the order added; 0 = the network's input */
    /* [n_inputs] the shapes in which it reads them, or null: as they are. */
    const struct vbs_shape *views;
    union vbs_attributes attributes;
    struct vbs_shape operand; /* n_dims 0: no constant operand */
    bool round_up;            /* pools: as vbs_shape_infer */
    bool kept;                /* never joins the layer before it */
    int line;                 /* where it stands, for messages; 0: in no line */
    /* Where its parameters come from; null: seeded. What these point to belongs to the source. */
    const struct vbs_values *values[VBS_N_PARAMETERS];
};

struct vbs_builder;

/* Texts are copied. */
enum vbs_status vbs_builder_new(struct vbs_ctx *ctx, const char *name, const char *about,
                                const struct vbs_shape *input,
                                struct vbs_builder **builder) VBS_MUST_CHECK;
void vbs_builder_free(struct vbs_builder *builder);

/* The file that values of nodes are read from; the network takes it, also when this fails. */
enum vbs_status vbs_builder_source(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_source *source) VBS_MUST_CHECK;

/* Names a final output, in their order; without any, all tensors that nobody reads are. shape: as
 * the file sees it, as many elements. */
enum vbs_status vbs_builder_output(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   const char *name, int id,
                                   const struct vbs_shape *shape) VBS_MUST_CHECK;

/* Sets struct vbs_network's whole. */
void vbs_builder_whole(struct vbs_builder *builder);

/* Appends an operator (copied). VBS_FORMAT says what is wrong with it; after a failure the builder
 * can only be freed. */
enum vbs_status vbs_builder_add(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                const struct vbs_node *node) VBS_MUST_CHECK;

/* Whether an operator so far reads the one of this number, 0: the input. */
bool vbs_builder_is_read(const struct vbs_builder *builder, int id);

/* Number of operators so far. */
int vbs_builder_count(const struct vbs_builder *builder);

/* The operator of a name, or -1; VBS_INPUT_NAME is 0. */
int vbs_builder_find(const struct vbs_builder *builder, const char *name);

/* A name known so far that is near to name, or null. */
const char *vbs_builder_nearest(const struct vbs_builder *builder, const char *name);

/* The shape of an operator's output, 0: of the input. */
const struct vbs_shape *vbs_builder_shape(const struct vbs_builder *builder, int id);

/* Fuses and makes the network. The builder can only be freed then. *line: that of the operator
 * at fault, or 0. */
enum vbs_status vbs_builder_finish(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_network **network, int *line) VBS_MUST_CHECK;

#endif
