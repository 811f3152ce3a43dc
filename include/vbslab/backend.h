/*
 * vbslab/backend.h - the libraries and models that run layers, behind one table.
 */
#ifndef VBSLAB_BACKEND_H
#define VBSLAB_BACKEND_H

#include "vbslab/measure.h"
#include "vbslab/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a backend is on this machine. Texts are owned by the struct. */
struct vbs_backend_info {
    bool built;        /* this build has it */
    bool usable;       /* and this machine can run it */
    char why[200];     /* when not usable: why; else empty */
    char library[200]; /* name and version of the library */
    char device[200];  /* what it would run on */
};

struct vbs_backend_options {
    const int *batches; /* ascending, batches[0] == 1 */
    int n_batches;
    int threads; /* 0: as many as this process may use */
};

struct vbs_backend {
    const char *name;
    const char *summary; /* one line */
    void (*probe)(struct vbs_backend_info *info);
    /*
     * Prepares network for the batches: kernels, packed weights (seeded, scaled so that activations
     * stay finite). *session is closed by its ops->close. VBS_UNSUPPORTED names layer and reason.
     */
    enum vbs_status (*open)(struct vbs_ctx *ctx, const struct vbs_network *network,
                            const struct vbs_backend_options *options,
                            struct vbs_session **session);
};

/* All backends that vbslab knows, built or not, the default first; null after the last. */
const struct vbs_backend *vbs_backend_at(int index);

/* By name; VBS_NOT_FOUND suggests the nearest. */
enum vbs_status vbs_backend_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_backend **backend) VBS_MUST_CHECK;

/*
 * Parameters of a network as every backend uses them when it is given none: seeded, the same on
 * every machine and in every backend, so that results can be compared. They depend on the layer's
 * id and shape, not on names.
 *
 * BatchNorm is y = gamma (x - mean) / sqrt(variance + VBS_BATCHNORM_EPSILON) + beta and Scale is
 * y = gamma x + beta, by channel; what an operator does not have comes as its neutral value (bias,
 * mean and beta 0, variance and gamma 1).
 */
#define VBS_BATCHNORM_EPSILON 1e-5

enum vbs_parameter {
    VBS_PARAMETER_WEIGHTS, /* conv [O, I / groups, D, H, W], fc [O, I]: plain, inputs as C, D, H, W
                            */
    VBS_PARAMETER_BIAS,    /* [O] */
    VBS_PARAMETER_MEAN,    /* [C], as all below */
    VBS_PARAMETER_VARIANCE,
    VBS_PARAMETER_GAMMA,
    VBS_PARAMETER_BETA,
};

/* Number of weights of a conv or fc, 0 for other layers. */
int64_t vbs_weight_count(const struct vbs_network *network, int layer);

/* Values first..first+count-1 of a parameter of layer's own operator (bundled < 0), or of its
 * bundled operator number bundled. Linear in count. */
void vbs_parameter_values(const struct vbs_network *network, int layer, int bundled,
                          enum vbs_parameter what, int64_t first, int64_t count, float *values);

/* Values of a tensor as ops->fill writes them, sample after sample in plain order (C, D, H, W):
 * uniform in [-1, 1). */
void vbs_tensor_values(int tensor, int64_t first, int64_t count, float *values);

#ifdef __cplusplus
}
#endif
#endif
