/* Functions of an ONNX file: nodes that name one are replaced by its nodes before the graph is
 * read. */
#ifndef VBS_MODEL_ONNX_IMPORT_FUNCTIONS_H
#define VBS_MODEL_ONNX_IMPORT_FUNCTIONS_H

#include "model/network/network.h"

#include "generated/onnx.pb-c.h"

/* The most functions that a call is inside of. */
#define VBS_ONNX_MOST_CALLS 64

/* Makes the graph of a model without calls of its functions, which lives as long as source and
 * shares what did not change with the model; the model's own graph where it has no functions. A
 * node of a function has the name of the call before its own, and so have the values that it makes.
 * The operators of functions are those of the model's version. VBS_FORMAT: a function calls itself,
 * or a call has more inputs or outputs than its function; VBS_UNSUPPORTED: two functions have one
 * name, or there are more than VBS_MAX_OPERATORS nodes; VBS_NO_MEMORY. Linear in the nodes of the
 * result. */
enum vbs_status vbs_onnx_expand_functions(struct vbs_ctx *ctx, struct vbs_source *source,
                                          const Onnx__ModelProto *model,
                                          const Onnx__GraphProto **graph) VBS_MUST_CHECK;

#endif
