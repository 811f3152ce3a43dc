/*
 * The headers with which readers of files make networks: the table of operators (op.h), shapes
 * (shape.h), the shape of an operator's output (operation.h), the values of parameters (values.h,
 * parameters.h), and the builder.
 *
 * A network is built operator by operator, as readers of files meet them. Shapes are inferred and
 * checked at once; fusion is settled at the end, when all readers of a tensor are known.
 */
#ifndef VBS_MODEL_NETWORK_NETWORK_H
#define VBS_MODEL_NETWORK_NETWORK_H

#include "base/sha256.h"
#include "vbslab/model.h"

#include "model/network/coordinates.h"
#include "model/network/cut.h"
#include "model/network/fold.h"
#include "model/network/fourier.h"
#include "model/network/inputs.h"
#include "model/network/op.h"
#include "model/network/operation.h"
#include "model/network/parameters.h"
#include "model/network/shape.h"
#include "model/network/values.h"
#include "model/network/view.h"

/* An operator as the reader of a file describes it. */
struct vbs_node {
    enum vbs_op op;
    const char *name;
    int n_inputs;
    const int *inputs; /* operators by number from 1 in the order added; 0 = the network's input */
    /* [n_inputs] The shapes in which it reads its inputs; null: their own. */
    const struct vbs_shape *views;
    union vbs_attributes attributes;
    struct vbs_shape operand; /* of the constant operand; n_dims 0: there is none */
    bool round_up;            /* as in struct vbs_operation */
    int line;                 /* its line in the file, for messages; 0: none */
    /* The source of its parameters; null: they are seeded. The struct source owns the values. */
    const struct vbs_values *values[VBS_N_PARAMETERS];
};

struct vbs_builder;

/* Makes a builder; name, about and input are copied. VBS_NO_MEMORY. */
enum vbs_status vbs_builder_new(struct vbs_ctx *ctx, const char *name, const char *about,
                                const struct vbs_shape *input,
                                struct vbs_builder **builder) VBS_MUST_CHECK;
void vbs_builder_free(struct vbs_builder *builder);

/* Gives the builder the source that values of nodes are read from. The builder owns it from now on,
 * also where this fails. VBS_USAGE where it has one. */
enum vbs_status vbs_builder_source(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_source *source) VBS_MUST_CHECK;

/* Names a final output; outputs are named in their order. Where none is named, all tensors that no
 * operator reads are outputs. shape is the output's in the file, of as many elements. */
enum vbs_status vbs_builder_output(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   const char *name, int id,
                                   const struct vbs_shape *shape) VBS_MUST_CHECK;

/* Adds an input, which begins behind those that were added before (its member first is not read);
 * together they must have the elements of tensor 0. Where none is added, the network has one,
 * VBS_INPUT_NAME. Names are copied. VBS_NO_MEMORY. */
enum vbs_status vbs_builder_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  const struct vbs_input *input) VBS_MUST_CHECK;

/* Records an input that is a constant. VBS_NO_MEMORY. */
enum vbs_status vbs_builder_fixed_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                        const struct vbs_fixed_input *input) VBS_MUST_CHECK;

/* Records the name of an input of the file that nothing reads, which is copied. VBS_NO_MEMORY. */
enum vbs_status vbs_builder_unread_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                         const char *name) VBS_MUST_CHECK;

/* Records the n tensors of the file with which the caller has the network end; names are copied.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_builder_until(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  const char *const *names, int n) VBS_MUST_CHECK;

/* Sets whole, whole_why (copied; it may be null) and whole_open in struct vbs_network.
 * VBS_NO_MEMORY. */
enum vbs_status vbs_builder_whole(struct vbs_ctx *ctx, struct vbs_builder *builder, const char *why,
                                  bool open) VBS_MUST_CHECK;

/* Appends an operator, which is copied. VBS_FORMAT says what is wrong with it. After a failure the
 * builder can only be freed. */
enum vbs_status vbs_builder_add(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                const struct vbs_node *node) VBS_MUST_CHECK;

/* Drops all operators on which none of the n operators ids depends, and numbers the others and ids
 * anew. Outputs are named behind this. VBS_NO_MEMORY. */
enum vbs_status vbs_builder_keep(struct vbs_ctx *ctx, struct vbs_builder *builder, int *ids,
                                 int n) VBS_MUST_CHECK;

/* Gives whether an operator that was added reads the operator id, or the input (id 0). */
bool vbs_builder_is_read(const struct vbs_builder *builder, int id);

/* Gives the number of operators that were added. */
int vbs_builder_count(const struct vbs_builder *builder);

/* Gives the number of the operator of a name, or -1 where there is none; VBS_INPUT_NAME is 0. */
int vbs_builder_find(const struct vbs_builder *builder, const char *name);

/* Gives the name of an operator that is similar to name, or null. */
const char *vbs_builder_nearest(const struct vbs_builder *builder, const char *name);

/* Gives the shape of the output of an operator, or (0) of the input. */
const struct vbs_shape *vbs_builder_shape(const struct vbs_builder *builder, int id);

/* Fuses operators and makes the network; the builder can only be freed then. After a failure *line
 * is the line of the operator at fault, or 0. */
enum vbs_status vbs_builder_finish(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_network **network, int *line) VBS_MUST_CHECK;

/* Gives the hash that the network would have if no weights were coded. */
uint64_t vbs_network_plain_hash(const struct vbs_network *network);

/* Adds the values of all parameters to a hash, in the order of layers, fused operators and kinds of
 * parameters. VBS_IO, VBS_FORMAT, VBS_NO_MEMORY. O(parameters). */
enum vbs_status vbs_network_hash_values(struct vbs_ctx *ctx, const struct vbs_network *network,
                                        struct vbs_sha256 *hash) VBS_MUST_CHECK;

/* Gives whether fused operators of some layer round its output to 8 bits, in a network of precision
 * fp32. */
bool vbs_network_rounds(const struct vbs_network *network);

/* Gives how many fused operators of a layer, from number first on, do nothing but make the whole
 * numbers of an encoding of 8 bits, which becomes *encoding; 0: they do something else. */
int vbs_layer_rounding(const struct vbs_layer *layer, int first, struct vbs_encoding *encoding);

/* Gives whether fused operator number i of a layer turns such whole numbers into their values. */
bool vbs_layer_turns_back(const struct vbs_layer *layer, int i,
                          const struct vbs_encoding *encoding);

/* For the reader that has just made the network, which nobody shares yet. */

/* Gives it another name, which is copied. VBS_NO_MEMORY. */
enum vbs_status vbs_network_rename(struct vbs_ctx *ctx, struct vbs_network *network,
                                   const char *name) VBS_MUST_CHECK;

/* Records from what it was made, as in struct vbs_origin; text is copied, and is null where it came
 * from files; input may be null. VBS_NO_MEMORY. */
enum vbs_status vbs_network_set_origin(struct vbs_ctx *ctx, struct vbs_network *network,
                                       const char *text, size_t length,
                                       const struct vbs_shape *input) VBS_MUST_CHECK;

/* Gives its parameters, which may be changed. */
struct vbs_parameters *vbs_network_own(struct vbs_network *network);

/* Allocates zeroed memory that the network owns; null: out of memory. */
void *vbs_network_alloc(struct vbs_network *network, size_t count, size_t size);

/* Gives its layers, [n_layers + 1], which may be changed. */
struct vbs_layer *vbs_network_layers(struct vbs_network *network);

/* Gives it other layers, from vbs_network_alloc. */
void vbs_network_set_layers(struct vbs_network *network, struct vbs_layer *layers, int n_layers);

#endif
