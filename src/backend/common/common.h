/*
 * Functions that the backends share. This is the only header of the sub-room that others include.
 */
#ifndef VBS_BACKEND_COMMON_COMMON_H
#define VBS_BACKEND_COMMON_COMMON_H

#include "base/arena.h"
#include "vbslab/backend.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"

/* ---- cpu.c: the processor ---- */

/* Writes model, family and stepping of the processor as far as they are known. The text is never
 * empty, and is the same at every call on a machine. */
void vbs_cpu_describe(char *buffer, size_t size);

/* Gives the clock rate at this moment in MHz, 0 when unknown. */
double vbs_cpu_clock_mhz(void);

/* ---- graph.c: the layers of a session ---- */

struct vbs_session_core;

/* Fills layer k as in a profile, except for the members that depend on the layout of tensors:
 * bytes, channels, place. */
enum vbs_status vbs_graph_layer_init(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                     const struct vbs_network *network, int k,
                                     struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* Gives the same memory, for libraries whose sources are not const. They do not change it, but
 * oneDNN may rewrite the zeros of padding with zeros. */
void *vbs_writable(const void *memory);

/* Gives whether the operator may write over this input, if the input has the output's shape.
 * Operators that combine two operands may; where their order matters, they may only write over the
 * first. */
bool vbs_graph_overwrites(const struct vbs_layer *layer, int input);

/* A backend's functions for vbs_graph_init_in_place; build is their first argument. */
struct vbs_in_place {
    void *build;
    /* Gives whether the layer's operator can write over this input. */
    bool (*may)(const void *build, int layer, int input);
    /* Swaps input number first of the layer with its first input. Null: nothing needs to be
     * done. */
    void (*swap)(void *build, int layer, int first);
};

/*
 * Puts every layer that can be in place over one of its inputs. The input is as large as the
 * output, is no input of the network, and in every schedule all its other readers run before the
 * layer, because the layer depends on them. An input that only the layer reads is preferred. The
 * input becomes the first of the layer's inputs. Linear in the edges for each layer that can be in
 * place.
 */
enum vbs_status vbs_graph_init_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                        struct vbs_profile_layer *layers, int n_layers,
                                        const struct vbs_in_place *own) VBS_MUST_CHECK;

/*
 * The most kernels of a session: more than any network that can be measured needs, few enough for
 * the store and the planners. VBS_UNSUPPORTED names the number that there would be, at least one
 * for each layer and batch, before any of them is made.
 */
#define VBS_MAX_KERNELS (1 << 20)
enum vbs_status vbs_graph_check_kernels(struct vbs_ctx *ctx, int n_layers, int n_batches,
                                        int64_t n_kernels) VBS_MUST_CHECK;

/* Gives the number of output channels that have weights of their own and lie one after the other:
 * those of a conv, or of an fc on whole samples; else 0. */
int vbs_graph_channels(const struct vbs_layer *layer);

/* Gives a layer that accumulates, whose reaches are filled, the rows of its inputs. It has no
 * reaches where it does not accumulate the rows of all its inputs, or their numbers differ. */
void vbs_graph_settle_rows(struct vbs_profile_layer *layers, int layer);

/* Fills the rows and the reaches of all layers of a session that has the network's layers: rows[k]
 * says whether tensor k (0: the network's input) is stored in rows that are contiguous. A layer has
 * reaches where its output is stored so and some input is read by rows. */
enum vbs_status vbs_graph_init_rows(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const bool *rows) VBS_MUST_CHECK;

/* ---- affine.c: parameters of operators that scale and shift channels ---- */

/* Gives y = factor * x + shift of a BatchNorm or Scale: the layer's own (fused < 0) or a fused one.
 * There are n values each; those beyond the layer's channels are 0. */
enum vbs_status vbs_affine(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                           int fused, int64_t n, float *factor, float *shift) VBS_MUST_CHECK;

/* ---- requested.c: requested kernels, which all backends read and check alike ---- */

/* A requested kernel. Its algorithm is "NAME" or, measured in slices, "NAME/4". */
struct vbs_requested {
    char name[64];
    int row_slices;      /* the number of slices of the row (4), else 0 */
    int slice, n_slices; /* of the whole layer */
};

struct vbs_requested vbs_requested_read(const struct vbs_requested_kernel *kernel);

/* Fills *result. VBS_INVALID: there is no such layer, batch or slice. */
enum vbs_status vbs_requested_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                    const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* Gives the index of an equal request before index, or -1. */
int vbs_requested_same(const struct vbs_requested_kernel *requested, int index);

/* Fails with VBS_NOT_FOUND for a kernel that this machine does not have. */
enum vbs_status vbs_requested_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                      const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* ---- session.c: what the sessions of all backends have in common ---- */

/* Rows of a layer's weights that were read together (rows.c). */
struct vbs_weight_rows {
    float *values; /* [n][n_values] */
    int layer;
    enum vbs_parameter what;
    int64_t n_values, first, n;
    int64_t capacity; /* of values */
};

/* The part that sessions of all backends begin with. */
struct vbs_session_core {
    struct vbs_session session;
    struct vbs_arena arena;            /* texts, layers, and other memory that lives as long as
                                          the session */
    const struct vbs_network *network; /* borrowed */
    bool weights_given;                /* runs are given the weights: kernels keep no packed
                                          weights */
    struct vbs_profile_layer *layers;  /* [network->n_layers + 1], session.layers */
    struct vbs_kernel *offers;         /* [session.n_kernels], session.kernels */
    int64_t max_offers, max_own;       /* space for kernels: in offers, and in the backend's own
                                          array */
    struct vbs_weight_rows rows;
};

struct vbs_session_class {
    const struct vbs_session_ops *ops; /* close also closes a session whose init has failed */
    size_t size;                       /* size of the backend's struct */
    bool modelled;
    enum vbs_status (*init)(struct vbs_ctx *ctx, struct vbs_session_core *core,
                            const struct vbs_backend_options *options);
};

/* Opens a session of a class: allocates size bytes of zeros, fills the core except for the members
 * that the functions below fill, and calls init. Does as open of struct vbs_backend. */
enum vbs_status vbs_session_open(struct vbs_ctx *ctx, const struct vbs_session_class *class,
                                 const struct vbs_network *network,
                                 const struct vbs_backend_options *options,
                                 struct vbs_session **session) VBS_MUST_CHECK;

/* Frees what the core owns, but not the core. */
void vbs_session_core_clear(struct vbs_session_core *core);

/* Copies backend, library, device, notes and threads of *texts. Its layout, a constant, is kept. */
enum vbs_status vbs_session_init_provenance(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                            const struct vbs_provenance *texts) VBS_MUST_CHECK;

/* Makes space for all layers of the network, and fills in the input, in plain floats. */
enum vbs_status vbs_session_init_layers(struct vbs_ctx *ctx,
                                        struct vbs_session_core *core) VBS_MUST_CHECK;

/* Gives the geometry of layer k of the session, which is layer number `layer` of the network, where
 * tensors have no layouts to choose from (ops->geometry of struct vbs_session). */
uint64_t vbs_session_geometry(const struct vbs_session_core *core, int k, int layer);

/* ---- rows.c: rows of weights ---- */

/* Reads row number `row` of a parameter of a layer, such as its weights, which are divided into
 * rows of n_values. Rows are best asked for one after the other, because many are read together.
 * *values stays until the next call for the session. Errors of vbs_parameter_values. */
enum vbs_status vbs_weight_row(struct vbs_ctx *ctx, struct vbs_session_core *core, int layer,
                               enum vbs_parameter what, int64_t row, int64_t n_values,
                               const float **values) VBS_MUST_CHECK;

/* Frees the rows that were read together, once no further ones are asked for soon. */
void vbs_weight_rows_clear(struct vbs_session_core *core);

/* ---- kernels.c: the kernels of a session while it is opened ---- */

/* Appends a kernel, and makes space for the backend's own data of it: own is the address of the
 * pointer to an array of such structs, which the backend frees. */
enum vbs_status vbs_kernel_append(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                  const struct vbs_kernel *kernel, void *own,
                                  size_t own_size) VBS_MUST_CHECK;

/* A backend's functions that make kernels; build is their first argument. */
struct vbs_kernel_maker {
    void *build;
    /* Appends the kernels of all algorithms of a layer at a batch; where requested is not null, at
     * least the requested kernel, if there is one. */
    enum vbs_status (*make)(void *build, int layer, int batch,
                            const struct vbs_requested *requested);
    /* Does the same for the rows [row, row + n) of one sample of a layer that has reaches. Null:
     * the backend has no kernels on rows. */
    enum vbs_status (*make_rows)(void *build, int layer, int row, int n,
                                 const struct vbs_requested *requested);
    /* Of the kernels from number first on, removes all but one of this algorithm; false: there is
     * none. */
    bool (*keep)(void *build, int first, const char *algorithm);
    /* Appends kernel number index once more; both share the memory that it owns. */
    enum vbs_status (*share)(void *build, int index);
    /* Packs the weights that kernel number index reads, unless they are. Called after `make` and
     * `make_rows`, in sessions that keep weights. Null: these have done so. */
    enum vbs_status (*pack)(void *build, int index);
    /* Frees what the backend has of kernel number index, and swaps what it has of two kernels.
     * Null, both: the session always has all kernels. */
    void (*release)(void *build, int index);
    void (*swap)(void *build, int i, int j);
    double (*now_s)(void *build); /* a clock for tests; null: vbs_clock_s */
};

/* Makes the kernels that options request. */
enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker) VBS_MUST_CHECK;

#endif
