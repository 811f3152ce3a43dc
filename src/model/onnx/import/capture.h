/* Graphs inside nodes (of If and Loop) read values of the graphs around them by name. */
#ifndef VBS_MODEL_ONNX_IMPORT_CAPTURE_H
#define VBS_MODEL_ONNX_IMPORT_CAPTURE_H

#include "base/arena.h"
#include "base/ctx.h"
#include "vbslab/status.h"

#include "generated/onnx.pb-c.h"

/* A value that the graphs inside a node read and do not make. */
struct vbs_onnx_captured {
    const char *name;
    int value;
};

/* The graph of a node, which must outlive the call. */
struct vbs_onnx_capturing {
    struct vbs_ctx *ctx;
    struct vbs_arena *arena;
    int (*find)(const void *graph, const char *name); /* gives the value of a name; -1: none */
    const void *graph;                                /* for find */
    int64_t *n_names;                                 /* as in vbs_onnx_count_names */
};

/* Counts n names that are looked at. VBS_UNSUPPORTED: more than 2^22 in all. */
enum vbs_status vbs_onnx_count_names(struct vbs_ctx *ctx, int64_t *n_names,
                                     size_t n) VBS_MUST_CHECK;

/* Gives what the graphs inside node, and those inside them, read and do not make, ascending by
 * name, in the arena. A name that a graph makes is its own, whatever the graphs around it have.
 * VBS_FORMAT: nothing makes a name; VBS_UNSUPPORTED, VBS_NO_MEMORY. Complexity: O(n log n) in the
 * names of these graphs. */
enum vbs_status vbs_onnx_capture(const struct vbs_onnx_capturing *capturing,
                                 const Onnx__NodeProto *node,
                                 const struct vbs_onnx_captured **captured, int *n) VBS_MUST_CHECK;

/* Gives the value of a name among n that are captured; -1: it is not among them. */
int vbs_onnx_find_captured(const struct vbs_onnx_captured *captured, int n, const char *name);

#endif
