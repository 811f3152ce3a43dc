/*
 * vbslab/model.h - networks: layers, shapes, parameters, work.
 *
 * A network is a directed acyclic graph of layers 1..n in topological order; id 0 is the network's
 * input. ReLU, BatchNorm, Scale and Dropout run in place and are bundled: they are not layers but
 * belong to the layer before them (VBS IV; DESIGN 3). Shapes are per sample, without the batch:
 * [C], [C, L], [C, H, W] or [C, D, H, W]. All data is 32-bit floats.
 *
 * Sources of networks: built-in ones (text files of models/, compiled in), text files of the same
 * format (models/README.md). All are untrusted: sizes, counts and products are checked.
 */
#ifndef VBSLAB_MODEL_H
#define VBSLAB_MODEL_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_LAYERS     4096
#define VBS_MAX_DIMS       4 /* of a sample: C and up to three spatial ones */
#define VBS_MAX_SPATIAL    3
#define VBS_MAX_MODEL_TEXT ((size_t)1 << 20) /* bytes of a model text */
#define VBS_MAX_NAME       256               /* bytes of a layer's name with its terminator */

/* Limits that keep every sum within 64 bits: bytes of all tensors of VBS_MAX_LAYERS layers at the
 * largest request, weights and work of a whole network. */
#define VBS_MAX_DIM      INT32_MAX
#define VBS_MAX_ELEMENTS ((int64_t)1 << 36) /* of one sample of a tensor; parameters of a layer */
#define VBS_MAX_MACS     ((int64_t)1 << 50) /* of one sample of a layer */

/* The name of the network's input where a layer's name is expected. */
#define VBS_INPUT_NAME "input"

/*
 * Operators, X(NAME, word, fewest inputs, most inputs, bundled).
 * word: in model files, in profiles and in `models show`. Most inputs 0: any number.
 * bundled: 1 when it runs in place and joins the layer before it.
 */
#define VBS_OP_LIST(X)                                                                             \
    X(CONV, "conv", 1, 1, 0)                                                                       \
    X(FC, "fc", 1, 1, 0)                                                                           \
    X(POOL_MAX, "maxpool", 1, 1, 0)                                                                \
    X(POOL_AVG, "avgpool", 1, 1, 0)                                                                \
    X(LRN, "lrn", 1, 1, 0)                                                                         \
    X(CONCAT, "concat", 1, 0, 0)                                                                   \
    X(ADD, "add", 2, 2, 0)                                                                         \
    X(SOFTMAX, "softmax", 1, 1, 0)                                                                 \
    X(RELU, "relu", 1, 1, 1)                                                                       \
    X(BATCHNORM, "batchnorm", 1, 1, 1)                                                             \
    X(SCALE, "scale", 1, 1, 1)                                                                     \
    X(DROPOUT, "dropout", 1, 1, 1)

#define VBS_OP_ENUM(name, word, low, high, bundled) VBS_OP_##name,
enum vbs_op { VBS_OP_LIST(VBS_OP_ENUM) VBS_N_OPS };
#undef VBS_OP_ENUM

/* The word of an operator, "input" for VBS_N_OPS; never null. */
const char *vbs_op_word(enum vbs_op op);

struct vbs_shape {
    int n_dims;                /* 1..VBS_MAX_DIMS; dim[0] is C */
    int64_t dim[VBS_MAX_DIMS]; /* each > 0 */
};

/* Product of the dimensions; shapes in a network never overflow. */
int64_t vbs_shape_elements(const struct vbs_shape *shape);

/* "3x227x227"; 64 bytes suffice. Returns buffer. */
char *vbs_shape_format(const struct vbs_shape *shape, char *buffer, size_t size);

/* Reads "3x227x227" or "3x16x112x112"; VBS_USAGE. */
enum vbs_status vbs_shape_parse(struct vbs_ctx *ctx, const char *text,
                                struct vbs_shape *shape) VBS_MUST_CHECK;

/* What an operator needs to know; fields it has no use for are 0. Spatial arrays are in the order
 * of the shape's spatial dimensions: [D, H, W] of 3-D, [H, W] of 2-D. */
struct vbs_attributes {
    int64_t out_channels; /* conv, fc */
    int64_t groups;       /* conv: >= 1 */
    bool bias;            /* conv, fc, scale */
    bool affine;          /* batchnorm: has gamma and beta of its own (2 C parameters) */
    int64_t kernel[VBS_MAX_SPATIAL];
    int64_t stride[VBS_MAX_SPATIAL];
    int64_t dilation[VBS_MAX_SPATIAL]; /* 1 = dense */
    int64_t pad_low[VBS_MAX_SPATIAL];
    /* Pools: what their windows reach beyond the input, so that (input + pad_low + pad_high -
     * kernel) / stride + 1, rounded down, is the output for pools that round up too. */
    int64_t pad_high[VBS_MAX_SPATIAL];
    bool pad_counts; /* avgpool: divides by the whole kernel, else by its part inside the input */
    int64_t lrn_size;
    double lrn_alpha, lrn_beta, lrn_k; /* Caffe: x / (k + alpha / size * sum x^2)^beta */
};

/* A bundled operator, in the order in which it is applied. */
struct vbs_bundled {
    enum vbs_op op;
    const char *name;
    struct vbs_attributes attributes;
    int64_t parameters;
};

struct vbs_layer {
    enum vbs_op op;
    const char *name; /* unique in the network, bundled operators' included */
    int n_inputs;
    const int *inputs; /* distinct layer ids less than this one's, 0 = the network's input */
    struct vbs_attributes attributes;
    struct vbs_shape shape; /* of the output */
    int n_bundled;
    const struct vbs_bundled *bundled;
    int64_t parameters; /* weights and biases, bundled operators' too; no running statistics */
    int64_t macs;       /* multiply-accumulates per sample: conv and fc, 0 for the others */
};

/* Immutable once made. */
struct vbs_network {
    const char *name;
    const char *about; /* one line for people, may be empty */
    struct vbs_shape input;
    int n_layers;
    /* [1..n_layers] are the layers; [0] stands for the input: its op is VBS_N_OPS. */
    const struct vbs_layer *layers;
};

/* Bytes of one sample of layer's output (layer 0: of the network's input): 4 per element. */
int64_t vbs_network_out_bytes(const struct vbs_network *network, int layer);

/* Bytes of one sample of all of layer's inputs together. */
int64_t vbs_network_in_bytes(const struct vbs_network *network, int layer);

/* Number and names of the built-in networks, in the order of INTERFACE.md. */
int vbs_model_count(void);
const char *vbs_model_name(int index);
/* The text of a built-in network (models/NAME.net), terminated with a zero. */
const char *vbs_model_text(int index);

/*
 * Loads a network. model: a built-in name, or the path of a model text (ends in .net).
 * input: shape to use instead of the model's own, of as many dimensions, or null. *network is
 * freed by vbs_network_free. VBS_NOT_FOUND (the detail suggests the nearest name), VBS_UNSUPPORTED
 * (an .onnx path), VBS_IO, VBS_FORMAT (with file and line), VBS_USAGE (the model is sound but
 * input does not suit it), VBS_NO_MEMORY. Complexity: O(n log n) in the text's length.
 */
enum vbs_status vbs_network_load(struct vbs_ctx *ctx, const char *model,
                                 const struct vbs_shape *input,
                                 struct vbs_network **network) VBS_MUST_CHECK;

/* The same from text in memory, of at most VBS_MAX_MODEL_TEXT bytes; source names it in messages.
 */
enum vbs_status vbs_network_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                  size_t length, const struct vbs_shape *input,
                                  struct vbs_network **network) VBS_MUST_CHECK;

void vbs_network_free(struct vbs_network *network);

/* 64-bit hash of everything that decides time and memory (shapes, operators, attributes, edges;
 * not the names): two networks with equal hashes may share measurements. */
uint64_t vbs_network_hash(const struct vbs_network *network);

#ifdef __cplusplus
}
#endif
#endif
