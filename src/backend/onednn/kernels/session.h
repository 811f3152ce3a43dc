/*
 * Internals that the files of this sub-room share; no other file calls oneDNN.
 *
 * Every tensor has one canonical layout, which it has between steps: channels in blocks of the
 * vector length (nChw16c on AVX-512, nChw8c on lesser x86) where blocking pays, else plain. The
 * batch is outermost, so that a sample is contiguous. In sessions with stripes, tensors whose
 * operators can work so have the channels last, which makes rows contiguous. Channels are padded
 * with zeros to whole blocks; these zeros count in a tensor's bytes, and every kernel keeps them
 * zero. A "stored" descriptor treats the padding as channels, which spares oneDNN its own passes of
 * zeroing.
 *
 * A layer may read a tensor in another shape than the tensor's own (views in model.h). Both shapes
 * have the same row-major order, so the canonical layout of such a tensor is plain. Fully connected
 * layers are the exception: their weights are packed in the order in which the tensor is stored.
 *
 * A kernel is a list of primitives and plain functions (steps) on memory objects made once at open.
 * Running it sets their pointers and executes; nothing is allocated. A kernel works in one layout;
 * inputs and outputs whose canonical layout is another one are copied within the workspace.
 *
 * Tensors may be encoded (struct vbs_encoding). Functions that build kernels of floats see every
 * tensor as floats in its canonical layout: od_kernel_begin gives encoded ones space in the
 * workspace, into which a step decodes them first, and od_kernel_end encodes the output. Such
 * kernels have OD_DECODED behind their names. Kernels of whole numbers, and of bfloat16, are
 * native: they read tensors as they are stored.
 *
 * The weights proper of conv and fc are packed (struct od_packed), and kernels share them.
 * od_kernel_weights records which channels of which packed weights a kernel reads, and the offsets
 * of its memory objects in OD_WEIGHTS count from the first of these channels, so that a run can be
 * given them. All other parameters are OD_FIXED.
 *
 * Files of kernels/, from the lowest: primitive, build, threads; layout, canonical; post_ops,
 * weights, operand, nest, encode, kernel; affine, gelu, elementwise, line, table; descriptors,
 * window, slices, implementations. Files of operators/: copy, one_primitive, extremes, coded,
 * tiling, then one for each kind of operator, then conv, native and dispatch. rows/, cells/ and
 * winograd/ have loops for several kinds of processor, which call nothing. Files of the folder that
 * holds both: probe, tensors, session, stripes, open, and onednn, the table of the backend's
 * functions.
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_SESSION_H
#define VBS_BACKEND_ONEDNN_KERNELS_SESSION_H

#include "backend/common/common.h"
#include "base/arena.h"
#include "vbslab/coded_layer.h"
#include <dnnl.h>

#define OD_ALIGNMENT  64 /* bytes, of every range of the workspace */
#define OD_DECODED    "+f32"
#define OD_MAX_ROUTES (VBS_MAX_DIMS + 1)

enum od_layout { OD_PLAIN, OD_BLOCKED, OD_CHANNELS_LAST, OD_N_LAYOUTS };

/* A tensor of one sample: [channels, spatial...]. Shapes of more dimensions than oneDNN has layouts
 * for have one spatial dimension, which is all positions. */
struct od_tensor {
    struct vbs_shape shape;
    int n_spatial;
    int64_t channels, stored_channels;
    int64_t spatial[VBS_MAX_SPATIAL];
    int64_t positions; /* product of spatial */
    enum od_layout canonical;
    int64_t bytes;
};

/* How a tensor lies in memory between steps. Floats and bfloat16 have the canonical layout; 8 bits
 * have the channels last, as oneDNN's kernels of whole numbers read them, or are plain. */
struct od_stored {
    struct vbs_encoding encoding;
    enum od_layout layout;
    int64_t bytes; /* of a sample */
};

/* The location of a memory object's data during a run. */
enum od_location {
    OD_SRC,     /* input number index */
    OD_DST,     /* the output */
    OD_WEIGHTS, /* the packed weights that the kernel reads */
    OD_BUFFER,  /* a range of the workspace */
    OD_SCRATCH, /* the workspace behind all buffers: the scratchpad of one primitive at a time */
    OD_FIXED    /* parameters: set at open */
};

struct od_memory {
    dnnl_memory_t handle;
    enum od_location location;
    int index;
    int64_t offset; /* bytes from the beginning of the location */
    bool padded;    /* setting its address writes zeros into padding */
    void *address;  /* that was set last */
};

/* A step that no primitive does. data: of its memory objects, in their order. Allocates nothing.
 * False: the library failed. */
typedef bool od_function(const void *plan, float *const *data);

#define OD_MAX_DATA 6 /* memory objects of a function */

struct od_step {
    dnnl_primitive_t primitive; /* null: function */
    od_function *function;
    const void *plan;
    int n_args;
    dnnl_exec_arg_t *args;
};

struct od_kernel {
    int n_memories;
    int64_t max_memories;
    struct od_memory *memories; /* freed with the kernel, as the steps are */
    int n_steps;
    int64_t max_steps;
    struct od_step *steps;
    int64_t buffer_bytes, scratch_bytes;
    struct od_packed *packed;          /* its packed weights; null: it has none in OD_WEIGHTS */
    int64_t first_channel, n_channels; /* the channels of them that it reads */
    /* [inputs, then the output] Offsets in the workspace of the floats of encoded tensors, below 0
     * for others; null: the kernel works on the tensors as they are stored. */
    int64_t *floats;
    bool shared; /* a kernel before it owns its objects */
    bool serial; /* all of it runs on the calling thread */
};

struct od_build;

/* Writes all weights of b's layer to memory, in a format of its own. */
typedef enum vbs_status od_filler(struct od_build *b, void *memory);

/* Weights or a constant operand in the format that a kernel reads. */
struct od_packed {
    struct od_packed *next;
    const struct vbs_coded *coded; /* the format is that of its bytes; null: md says it */
    dnnl_memory_desc_t md;         /* of one weight block */
    int n_blocks;     /* weight blocks: equal ranges of the channels, one after the other */
    int64_t channels; /* of all blocks: output channels, with padding where that is stored */
    bool stored;      /* md counts padded channels */
    bool pointwise;   /* of a deconv as a convolution of 1x1 (operators/tiling.c) */
    bool whole;       /* whole multiples of the steps, in 8 bits; those of an fc are [I, O] */
    od_filler *fill;  /* writes all bytes; null: md, or coded, says how */
    void *data;       /* null: not packed */
    int64_t bytes;    /* of all blocks */
    int number;       /* 0, 1, ... in the order of their first use in the session */
};

/* The weights of a conv, deconv or fc, into which a BatchNorm, Scale or Linear right behind the
 * layer is folded. Other layers that have a constant operand use only `packed`. */
struct od_weights {
    float *scale; /* [channels of the output] factor of the network's weights */
    float *bias;  /* [stored channels of the output]; null: none */
    int64_t bias_bytes;
    /* Of weights of 8 bits (VBS_INT8), by output channel: */
    float *unit_factors; /* the value of one in a sum of products of whole numbers; null: a sum has
                            none */
    float *unit_bias;    /* the bias in such units; null: there is none */
    int n_folded;        /* fused operators that scale and bias contain */
    int n_fused;         /* fused operators after them that are fused */
    int64_t channels;    /* of the output, with padding where it is stored */
    int64_t unit; /* the channels of a slice are a multiple of this; 0: there are no slices */
    struct od_packed *packed;
    struct od_coding *codings;
};

/* Coded weights of a layer in one form, as kernels read them (operators/coded.c). */
struct od_coding {
    struct od_coding *next;
    const struct vbs_coded *coded;
    struct vbs_coded *made; /* coded anew: owned; null: coded is the network's */
};

/* Copies of one sample between plain order and a tensor's canonical layout, made when first needed.
 */
struct od_transfer {
    dnnl_memory_t plain, canonical;
    dnnl_primitive_t to_canonical, to_plain;
    int threads;
};

struct od_session {
    struct vbs_session_core core; /* first */
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
    int block;                      /* channels in a block; 1: no canonical layout has blocks */
    bool stripes;                   /* tensors have the channels last, where they can */
    struct od_tensor *tensors;      /* [n_layers + 1], as kernels that compute in floats see them */
    struct od_stored *stored;       /* [n_layers + 1] */
    bool *bounded;                  /* [n_layers + 1] no value of the tensor is -infinity */
    struct od_tensor **inputs;      /* [n_layers + 1][n_inputs], as the layer reads them */
    struct od_weights *weights;     /* [n_layers + 1] */
    struct od_transfer *transfers;  /* [n_layers + 1] */
    struct od_kernel *kernels;      /* [core.session.n_kernels] */
    struct od_coded_step *coded;    /* steps that compute from coded weights */
    const struct od_normal *normal; /* polynomials of GELU; null: not made yet */
};

/* A step that computes a layer from coded weights. */
struct od_coded_step {
    struct od_coded_step *next;
    struct vbs_coded_plan *plan;
};

/* The kernels that are being made: those of one layer at one batch. */
struct od_build {
    struct vbs_ctx *ctx;
    struct od_session *session;
    const struct vbs_network *network;
    int layer;
    const struct vbs_layer *l;
    int batch;
    /* Make only this kernel, where it is not null; od_build_other may ignore it. */
    const struct vbs_requested *requested;
    bool native;     /* kernels work on encoded tensors as they are stored, else on their floats */
    bool serial;     /* kernels are made for one thread, and named so (open.c) */
    bool sizes_only; /* kernels are made for their workspaces and weights, and cannot run */
    /* Of kernels on rows (stripes.c), the rows that they read and write, as tensors; l is then a
     * layer of these shapes, with the padding that is left. Null: kernels of whole samples. */
    const struct od_tensor *row_inputs; /* [n_inputs] */
    const struct od_tensor *row_output;
    int64_t row;              /* the first row of the layer's output that they write */
    int64_t row_read;         /* the first row of input 0 that they read */
    struct od_kernel *kernel; /* the one begun last; valid until the next one begins */
    float *plain;             /* space for weights.c; the maker of the build frees it */
    int64_t plain_bytes;
};

/* ---- session.c: the calls of a session ---- */

extern const struct vbs_session_ops od_session_ops;

/* The speed of the machine (speed.c). */
double od_cache_speed(const struct vbs_session *session);
enum vbs_status od_speed(struct vbs_ctx *ctx, const struct vbs_session *session, const void *memory,
                         int64_t bytes, struct vbs_speed *speed) VBS_MUST_CHECK;

/* ---- threads.c: how many threads compute ---- */

/* OpenMP's settings of the calling thread. */
struct od_threads {
    int n;
    int dynamic;
};

/* Makes parallel regions of the calling thread use n threads; returns the settings before. */
struct od_threads od_threads_set(int n);
void od_threads_restore(struct od_threads before);

/*
 * The number of threads that parallel regions really have when so many are requested (0: as many as
 * OpenMP would use), counted in one of them. VBS_UNSUPPORTED: fewer than requested.
 */
enum vbs_status od_threads_choose(struct vbs_ctx *ctx, int requested, int *threads) VBS_MUST_CHECK;

/* ---- open.c, probe.c ---- */

/* Describes the library and its processor, as text. */
void od_describe_library(char *buffer, size_t size);
void od_describe_device(char *buffer, size_t size);

/* Makes all of b's session, whose network and threads are set. */
enum vbs_status od_open(struct od_build *b,
                        const struct vbs_backend_options *options) VBS_MUST_CHECK;

/* ---- build.c: what everything that builds kernels needs ---- */

const struct od_tensor *od_input(const struct od_build *b, int index);
const struct od_tensor *od_output(const struct od_build *b);

/* Converts the result of a failed call to a status; doing names the attempt, such as "packing
 * weights". */
enum vbs_status od_fail(struct od_build *b, dnnl_status_t status, const char *doing);

/* Allocates zeroed memory, aligned for any kernel, in huge pages where the system has some; the
 * caller frees it with free(). */
void *od_alloc(int64_t bytes);

/* Does the same for memory of which the caller writes all bytes: only those behind it are zero. The
 * system gives its pages as they are written. */
void *od_space(int64_t bytes);

/* Allocates n floats that live as long as the session, aligned; null: out of memory. */
float *od_constants(struct od_build *b, int64_t n);

/* ---- tensors.c: the session's calls for tensors ---- */

enum vbs_status od_fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        void *memory) VBS_MUST_CHECK;
enum vbs_status od_write(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                         const float *values, void *memory) VBS_MUST_CHECK;
enum vbs_status od_read(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        const void *memory, float *values) VBS_MUST_CHECK;
enum vbs_status od_write_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int row,
                              int n, const float *values, void *memory) VBS_MUST_CHECK;
enum vbs_status od_read_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int row,
                             int n, const void *memory, float *values) VBS_MUST_CHECK;
void od_transfer_release(struct od_transfer *transfer);

#endif
