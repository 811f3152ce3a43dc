/*
 * vbslab/predict.h - profiles of networks that were never measured.
 *
 * A machine is calibrated once: a set of small networks, which are built in, is measured in about
 * two minutes, and their kernel times are kept in the store (timings.h). From these a model is
 * learnt, which predicts the time of every layer, batch and algorithm of any network: for each
 * algorithm a sum of operations and bytes at rates of their own, corrected by a Gaussian process
 * over the sizes of the layer. The rows of a predicted profile are those of a measured one in all
 * bytes, because the backend itself says which kernels there are.
 *
 * A predicted profile has the provenance of the machine's measurements, and notes that begin with
 * VBS_PREDICTED_NOTE (profile.h). Its rows have n_runs 0, but intervals, which hold the measured
 * time with 95% where the network's layers are like those that were learnt from.
 *
 * Threads: a predictor is immutable and may be shared; otherwise those of store.h.
 */
#ifndef VBSLAB_PREDICT_H
#define VBSLAB_PREDICT_H

#include "vbslab/backend.h"
#include "vbslab/store.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_PREDICT_CALIBRATE_S 120 /* seconds of a calibration whose time is not limited */

/* The machine that is calibrated, or whose times are predicted. Begin with {.struct_size =
 * sizeof(struct vbs_predict_options)}. */
struct vbs_predict_options {
    size_t struct_size;
    const struct vbs_backend *backend;
    int threads;         /* as struct vbs_backend_options */
    const char *vbslab;  /* the build, for the provenance; null: vbs_version() */
    const char *folder;  /* for the file that copies are measured with; null: "." */
    double time_limit_s; /* of a calibration; 0: VBS_PREDICT_CALIBRATE_S. Every kernel runs at least
                            once whatever the limit */
    bool again; /* a calibration measures all networks, also those that the store has; studies at
                   the same batches measure their geometries anew, too */
    struct vbs_progress progress; /* of a calibration */
};

/* The result of a calibration. */
struct vbs_predict_report {
    int n_networks;    /* that are learnt from */
    int n_measured;    /* of these, those that were measured now; the store had the others */
    int n_kernels;     /* whose times are known: layer, batch and algorithm */
    int64_t n_samples; /* taken now */
    double measured_s; /* the time that this took */
};

/* Measures the built-in networks whose kernel times the store does not have for this backend,
 * library, device, build and number of threads, and the speed of copies, and keeps them in the
 * store. A calibration that was interrupted goes on where it was. report may be null. Errors of
 * opening a session, of measuring and of the store. */
enum vbs_status vbs_predict_calibrate(struct vbs_ctx *ctx, struct vbs_store *store,
                                      const struct vbs_predict_options *options,
                                      struct vbs_predict_report *report) VBS_MUST_CHECK;

/* What has been learnt from a calibration. Immutable; freed by vbs_predictor_free. */
struct vbs_predictor;

/* Learns from the calibration of this backend, device, build and number of threads that the store
 * has. VBS_NOT_FOUND: it has none, or one that was not finished. VBS_NO_MEMORY, VBS_INTERRUPTED,
 * errors of the store. Some seconds: O(n^3) for n kernels of one algorithm, of which at most some
 * hundreds are used. */
enum vbs_status vbs_predictor_load(struct vbs_ctx *ctx, struct vbs_store *store,
                                   const struct vbs_predict_options *options,
                                   struct vbs_predictor **predictor) VBS_MUST_CHECK;
/* Frees a predictor; null is allowed. */
void vbs_predictor_free(struct vbs_predictor *predictor);

/* Makes the profile of a network at these batches (ascending, batches[0] == 1), with predicted
 * times, and the copies of the calibration. Layers of a geometry that was measured at the same
 * batches (timings.h) have their measured times. The caller frees *profile. Errors of opening a
 * session of all kernels, which takes most of the time, and of the store. */
enum vbs_status vbs_predict_profile(struct vbs_ctx *ctx, struct vbs_store *store,
                                    const struct vbs_predictor *predictor,
                                    const struct vbs_network *network, const int *batches,
                                    int n_batches, struct vbs_profile **profile) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
