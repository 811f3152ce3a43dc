/*
 * vbslab/measure.h - measuring a network in place: layers in order, samples into a sink.
 *
 * Measuring knows neither the libraries that run layers nor the store. It drives a session (what a
 * backend opens) and hands every sample to a sink (what the store implements).
 */
#ifndef VBSLAB_MEASURE_H
#define VBSLAB_MEASURE_H

#include "vbslab/profile.h"
#include "vbslab/progress.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * One implementation of one layer at one batch, in a session. Immutable; owned by the session.
 */
struct vbs_kernel {
    int layer;             /* 1..n_layers */
    int batch;             /* samples */
    const char *algorithm; /* the same name for the same implementation at every batch */
    int64_t ws_bytes;      /* workspace of a run, which the caller provides. Because it begins at a
                              multiple of 64, sessions that execute give whole multiples of 64 */
    int64_t weight_bytes;  /* all parameters as this kernel packs them; of a slice its own */
    /* As in struct vbs_profile_row: kernels of a layer with the same format read the same packed
     * weights. Formats are numbered by their first use, so a number means something only within one
     * session or profile: the format of a profile's row is that of the session's kernel with the
     * same layer, algorithm and batch. */
    int format;
    int slice, n_slices; /* the slice of the layer that it computes; 0: the whole layer */
    int rows;            /* of the output of each sample that it computes; 0: whole samples */
    int row_slices;      /* n_slices of struct vbs_profile_row */
    /* The part of weight_bytes that a run can be given (struct vbs_operands): the weights proper.
     * The other parameters (biases, those of fused operators) stay with the session. */
    int64_t packed_bytes;
};

/* The addresses of the data of one run. All memory is the caller's. */
struct vbs_operands {
    /* For each input of the layer its first sample to be read; of a kernel on rows the first of the
     * rows that its rows read and the input has, or the sample where it is read whole. Rows of a
     * tensor lie one after the other. */
    const void *const *src;
    void *dst;           /* the first sample to be written, also where a slice is computed: the
                            whole sample; src[0] when the layer is in place. Of a kernel on rows
                            the first row */
    void *ws;            /* the kernel's ws_bytes, aligned to 64 */
    const void *weights; /* the kernel's packed_bytes; null: the session's own. On a device aligned
                            to 64; on the host mostly so, and at least by the largest power of two
                            up to 4 that divides the bytes of the packed weights, so that kernels
                            load vectors as unaligned ones */
};

/* The functions that a backend of a device has beside those of its session: memory, streams and
 * events. Only the library calls them. */
struct vbs_device_ops;

/*
 * A network prepared on a backend for some batches. A backend opens a session (backend.h), and
 * ops->close closes it. Backends put this struct first in their own.
 *
 * The layers are those that the backend runs. A Concat that costs nothing is not among them, so
 * numbers of layers may differ from the network's. Tensor k is the output of layer k, tensor 0 the
 * network's input; it takes layers[k].out_bytes for each sample, and its samples are contiguous.
 *
 * Threads: one thread at a time uses a session. Different sessions may be used at the same time.
 */
struct vbs_session {
    const struct vbs_session_ops *ops;
    int n_layers;
    const struct vbs_profile_layer *layers; /* as in a profile: [0] is the network's input */
    int n_kernels;
    const struct vbs_kernel *kernels; /* ascending by layer, then by batch, then in the backend's
                                         order; or in the order in which they were requested */
    struct vbs_provenance provenance; /* backend, library, device, threads that compute */
    bool modelled; /* times are computed, not taken: one sample is enough, and no memory is read or
                      written */
};

/* A receiver of packed weights, which gets their bytes in order, piece by piece. */
struct vbs_pack_sink {
    void *self;
    enum vbs_status (*write)(struct vbs_ctx *ctx, void *self, const void *bytes, int64_t n_bytes);
};

/* The calls of a session. All that return a status set the reason in *ctx on failure. */
struct vbs_session_ops {
    const struct vbs_device_ops *device; /* internal; null: alloc returns memory of the host */
    /* Allocates memory for activations and workspaces, aligned for the library; null: out of
     * memory. */
    void *(*alloc)(struct vbs_session *session, int64_t bytes);
    void (*free)(struct vbs_session *session, void *memory);
    /* Runs kernel number kernel of the session to its end; *time_us is the time of the whole batch;
     * where time_us is null, no clock is read. Nothing is allocated, generated or packed; but a
     * device may repeat a kernel's first run with a time, to find out what its clock adds.
     * VBS_LIBRARY, VBS_NO_MEMORY; VBS_INVALID: weights are missing in a session that keeps none. */
    enum vbs_status (*run)(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                           const struct vbs_operands *operands, double *time_us);
    /*
     * Writes the kernel's packed_bytes as operands->weights needs them, into memory of the host.
     * Slices with one format are ranges of bytes of the whole: slice s of n begins at byte
     * floor(first channel * packed_bytes of the whole / channels) (schedule.h), so that the whole's
     * packed weights serve kernels of slices too. It frees all other memory that it needs before it
     * returns; but weights that were read with those of a slice, of at most 16 MiB, are kept for
     * the slices behind it, which are best packed next, until the last one. Null: the backend keeps
     * weights outside the budget.
     */
    enum vbs_status (*pack)(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                            void *memory);
    /* Fills n samples of a tensor with values that are the same in every session and fit for timing
     * and checking. */
    enum vbs_status (*fill)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory);
    /*
     * Convert n samples of a tensor between plain floats, [n, C, D, H, W] as the network's shapes
     * say, and the backend's own layout. A tensor's first call may allocate, also one with n = 0,
     * which converts nothing; later calls do not. VBS_UNSUPPORTED when the session is modelled.
     */
    enum vbs_status (*write)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                             const float *values, void *memory);
    enum vbs_status (*read)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            const void *memory, float *values);
    /* Convert n rows of one sample of a tensor, from row number row on, between the plain floats of
     * the whole sample and the backend's layout; memory is the address of the first of these rows.
     * Allocates nothing. Null: tensors have no rows. */
    enum vbs_status (*write_rows)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                  int row, int n, const float *values, void *memory);
    enum vbs_status (*read_rows)(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                 int row, int n, const void *memory, float *values);
    void (*close)(struct vbs_session *session);
    /* Gives the geometry of a layer of the session: a hash of everything that decides which kernels
     * it has, their bytes and their times, such as operator, shapes and the layouts of its tensors.
     * Layers of one geometry have equal kernels, also in sessions of other networks with the same
     * provenance and batches. Null: not known. */
    uint64_t (*geometry)(const struct vbs_session *session, int layer);
    /* Does as pack, but hands the bytes to sink. It needs memory for a piece of some MiB only,
     * where ranges of channels of the packed weight format can be made alone. Passes on sink's
     * failure. Null: the backend has pack alone. */
    enum vbs_status (*pack_to)(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                               const struct vbs_pack_sink *sink);
    /* Measures how fast the machine is now, in some 50 ms. memory: bytes to read, of any content;
     * with fewer than twice those of the last-level cache, memory_bytes_per_us is 0. VBS_NO_MEMORY.
     * Null: the backend cannot say. */
    enum vbs_status (*speed)(struct vbs_ctx *ctx, const struct vbs_session *session,
                             const void *memory, int64_t bytes, struct vbs_speed *speed);
    /* Measures cache_bytes_per_us alone, in some 3 ms; 0: out of memory. Null: as speed. On
     * machines that others use, too, it tells whether they use the last-level cache now, or whether
     * the processors of this machine have none in common: programs then take up to twice as long,
     * while no clock of the system shows anything. */
    double (*cache_speed)(const struct vbs_session *session);
};

/* The receiver of samples, from which measuring also resumes. Only the thread that measures calls
 * it. */
struct vbs_sample_sink {
    void *self;
    /* Gives the times of kernel that are stored already, in rounds before this process's first. */
    enum vbs_status (*stored)(struct vbs_ctx *ctx, void *self, int kernel, const double **times_us,
                              int *n_times);
    /* Keeps a sample (kernel, round, time) for good. It is called often, outside of timed
     * regions. */
    enum vbs_status (*add)(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us);
    /* These two do the same for copies: times of a copy of bytes from source. */
    enum vbs_status (*stored_copies)(struct vbs_ctx *ctx, void *self, const char *source,
                                     int64_t bytes, const double **times_us, int *n_times);
    enum vbs_status (*add_copy)(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                                double time_us);
    /* Says, at the end of a measurement with save_runs, that a kernel got no sample because no
     * planner is likely to choose it, or that the samples that it has do not count, because there
     * was no time for all layers at its batch. Null: every kernel must have one. */
    enum vbs_status (*leave_out)(struct vbs_ctx *ctx, void *self, int kernel);
};

/* The limits and the precision of a measurement. Begin with {.struct_size = sizeof(struct
 * vbs_measure_options)}: a member that is 0 has the default that is named here. */
struct vbs_measure_options {
    size_t struct_size;       /* sizeof(struct vbs_measure_options) */
    double time_limit_s;      /* of the whole measurement; 0: VBS_MEASURE_S */
    double relative_interval; /* a median is tight when half of its 95% interval is below this
                                 share of it; 0: 0.02 */
    /* Runs of every kernel, whatever the limit of time. 0: 5 by default; where time_limit_s is
     * given and too short for them, as many as it has time for, at least 1. */
    int min_runs;
    int max_runs;  /* of every kernel; 0: 50 */
    uint64_t seed; /* decides the order of batches within a round */
    struct vbs_progress progress;
    /* Runs are made where they matter. Layers of equal geometry share theirs: one run of any of
     * their equal kernels is enough, and a kernel with few runs of its own gets the samples of the
     * others at the end. Batches are measured from coarse to fine. Where the sink has leave_out, a
     * kernel may have no sample: one that took longer at smaller and larger batches than another,
     * which needs no more workspace and weights, or one of a layer that takes hardly any time; but
     * every layer has a kernel with samples at every batch. Further runs go to the kernels that may
     * be the fastest. Where min_runs is given, every kernel that is not left out gets as many of
     * its own. Modelled sessions save nothing. */
    bool save_runs;
    /* With save_runs and a sink that has leave_out: seconds behind which nothing goes on but the
     * run of one kernel, once every layer has a time at batch 1. Batches at which some layer has
     * none by then are left out. 0: kernels get their least runs, however long that takes. */
    double most_s;
};

#define VBS_MEASURE_RUNS 6 /* with fewer runs no interval covers a median with 95% */

/* The cost of a measurement, for `make bench` and the notes of a profile. */
struct vbs_measure_report {
    double total_s;        /* the time that the measurement took */
    double timed_s;        /* of it, spent in timed kernels */
    int64_t n_samples;     /* samples taken in this call, without those of an earlier process */
    int64_t n_rejected;    /* times dropped because the machine was disturbed during them */
    double worst_interval; /* the largest relative half-width of an interval at the end, of kernels
                              with at least VBS_MEASURE_RUNS runs; 0: there are none */
    int n_judged;      /* kernels, except dominated ones, which are too slow ever to be chosen */
    int n_unconverged; /* of these, those whose interval is wider than requested, or that have
                          too few runs for an interval */
    int n_few;         /* of these, those with fewer than VBS_MEASURE_RUNS runs */
    /* The median speed of the last-level cache while kernels were timed (struct vbs_speed), without
     * the times when it was slow, whose samples are dropped; 0: the session cannot say. */
    double cache_bytes_per_us;
    int n_left_out;         /* kernels that the sink was told to leave out; they are not judged */
    int n_batches_left_out; /* batches for which there was no time: all of their kernels are left
                               out */
};

/*
 * Takes samples of every kernel of session until each median is tight, or has max_runs, or the time
 * is up (every kernel gets its least runs first, see min_runs). A pass runs all layers in network
 * order at one batch, one algorithm each, the algorithms taking turns; rounds go over all batches
 * in a shuffled order, with save_runs up and down. ctx->cancel ends it with VBS_INTERRUPTED; the
 * sink then has all samples taken so far.
 */
enum vbs_status vbs_measure(struct vbs_ctx *ctx, struct vbs_session *session,
                            const struct vbs_measure_options *options,
                            const struct vbs_sample_sink *sink,
                            struct vbs_measure_report *report) VBS_MUST_CHECK;

#define VBS_MEASURE_S       60 /* seconds of a measurement whose time is not limited */
#define VBS_MEASURE_LEAST_S 10 /* from which on a limit holds; shorter ones are for quick looks */

/*
 * The shares of a measurement's time that its parts may take, so that there is a profile within a
 * limit whatever the machine does. Seconds; those that end with "at the latest" count from the
 * beginning.
 */
struct vbs_measure_shares {
    double begin_s;       /* the beginning, by the system's monotonic clock */
    double limit_s;       /* the limit that was given, or VBS_MEASURE_S */
    double most_s;        /* there is a profile, at the latest */
    double prepared_s;    /* kernels are prepared, at the latest: time_limit_s of struct
                             vbs_backend_options */
    double calibration_s; /* for the calibration: time_limit_s of struct vbs_calibrate_options */
    double calibrated_s;  /* the most that factors beside copies may take: most_s there; 0: however
                             long they take */
    double timed_s;       /* kernels are timed, at the latest */
    double learning_s;    /* for executing schedules (learn.h); 0: none are executed */
    double least_learning_s; /* the same, also where kernels take longer */
    double learned_s;        /* learning ends, at the latest */
    double stopped_s;        /* learning that goes on nevertheless is stopped, so that there is time
                                to keep the profile */
};

/*
 * Divides the time of a measurement that begins now. time_limit_s: of everything; 0: VBS_MEASURE_S.
 * A limit below VBS_MEASURE_LEAST_S bounds the refinement of times only, and there is a profile
 * within VBS_MEASURE_S. most_s: seconds until there is a profile, where this is another limit; 0:
 * it is not. learns: schedules are executed after kernels are timed.
 */
void vbs_measure_divide(double time_limit_s, double most_s, bool learns,
                        struct vbs_measure_shares *shares);

/* Returns the seconds that are left until until_s seconds from the beginning; where they are over,
 * a millisecond, because 0 stands for a default in options. */
double vbs_measure_left_s(const struct vbs_measure_shares *shares, double until_s);

/* Returns the seconds that a part may take that comes before kernels are timed: part_s, but at most
 * half of those that are left until timed_s, so that kernels have as much, and at least half a
 * millisecond. A part of 0 seconds stays 0. */
double vbs_measure_part_s(const struct vbs_measure_shares *shares, double part_s);

/* Returns the seconds by which a measurement that ends now has taken longer than most_s; 0: it has
 * not. It has where already one kernel of each layer at the first batch takes longer to prepare and
 * to run, and by as much. */
double vbs_measure_excess_s(const struct vbs_measure_shares *shares);

/* Sources of copies that can be measured. */
#define VBS_COPY_PAGE_CACHE "page-cache"
#define VBS_COPY_DISK       "disk"
#define VBS_COPY_PINNED                                                                            \
    "pinned" /* of devices: from memory of the host that they can read by                          \
                themselves */

/* The options of measuring copies. Begin with {.struct_size = sizeof(struct vbs_copy_options)}. */
struct vbs_copy_options {
    size_t struct_size;  /* sizeof(struct vbs_copy_options) */
    const char *folder;  /* where a temporary file to copy from can be made; modelled: unused */
    double time_limit_s; /* of the whole measurement, a quarter of it for copies, and less than a
                            millisecond is too short for them, which is a warning; 0: not limited */
    struct vbs_progress progress;
};

/* The result of measuring copies. */
struct vbs_copy_report {
    double total_s;
    int n_samples;
    int n_sources; /* that have samples, of this call or of an earlier process */
    const char *sources[3];
    char notes[200]; /* the method by which each source was read, or the reason why one is left
                        out; for people */
    char warning[VBS_DETAIL_SIZE]; /* the reason why copies could not be measured; else empty */
};

/*
 * Takes samples of copies into memory, in about two seconds, at least five of each size: 64 KiB,
 * 256 KiB, ... to 64 MiB, but none above the network's weights, and none for which the time is too
 * short; at least three sizes. "page-cache": data that were written or read a while ago. "disk":
 * data that the system counts as fetched from storage; it is left out where the count does not show
 * this, as in a file system in memory. A copy is one call of pread into memory whose pages are
 * resident. A copy to a device goes through pinned memory in slices of 1 MiB, of which one is read
 * while the device copies another; "pinned" is measured too.
 *
 * A file that cannot be made or read is a warning, not a failure. VBS_INTERRUPTED, VBS_NO_MEMORY,
 * and errors of the sink.
 */
enum vbs_status vbs_measure_copies(struct vbs_ctx *ctx, struct vbs_session *session,
                                   const struct vbs_copy_options *options,
                                   const struct vbs_sample_sink *sink,
                                   struct vbs_copy_report *report) VBS_MUST_CHECK;

#define VBS_CALIBRATION_S 6 /* seconds of a calibration whose time is not limited */

/* The options of a calibration. Begin with {.struct_size = sizeof(struct vbs_calibrate_options)}.
 */
struct vbs_calibrate_options {
    size_t struct_size; /* sizeof(struct vbs_calibrate_options) */
    const char *folder; /* where a temporary file to copy from can be made */
    int n_sources;      /* at most VBS_MAX_COPIES; 0: only the machine's speed is measured */
    const char *const *sources; /* of copies: those above */
    int batch;                  /* at which layers run, one of the session's; 0: 1 */
    double
        time_limit_s; /* of the whole; 0: VBS_CALIBRATION_S. Three passes of each kind come first */
    struct vbs_progress progress;
    double most_s; /* where these passes would take longer there are no factors, which is a
                      warning; where these are fewer than 0.05 the speed stays unknown, too; 0:
                      however long they take */
};

/*
 * Measures how much copies of weights and layers slow each other down, and how fast the machine is.
 * All layers run in order with their fastest kernels, alone and beside a thread that copies, by
 * turns. A modelled session gives a calibration without figures. A file that cannot be made or read
 * is a warning (else ""): the calibration then has the speed only. The caller frees *calibration.
 * VBS_INTERRUPTED, VBS_NO_MEMORY, VBS_LIBRARY; VBS_UNSUPPORTED: a layer has no kernel at the batch.
 */
enum vbs_status vbs_measure_calibration(struct vbs_ctx *ctx, struct vbs_session *session,
                                        const struct vbs_calibrate_options *options,
                                        char warning[VBS_DETAIL_SIZE],
                                        struct vbs_calibration **calibration) VBS_MUST_CHECK;
/* Gives a calibration the speed of the last-level cache that a measurement reports, where both know
 * it. */
void vbs_calibration_set_cache(struct vbs_calibration *calibration, double cache_bytes_per_us);
/* Frees what vbs_measure_calibration gave; null is allowed. */
void vbs_calibration_free(struct vbs_calibration *calibration);

/* Computes the median, MAD (raw, not scaled) and 95% interval of the median (order statistics,
 * binomial: exact for any distribution) of n times; fills time_us, mad_us, low_us, high_us, n_runs
 * of *row. Below 6 times the interval is their range, which covers the median with less than 95%.
 * times is sorted in place. O(n log n). */
void vbs_measure_summary(double *times_us, int n, struct vbs_profile_row *row);

/* Returns the rank of the low end of the interval among n times (n >= 1), ascending: 1 is the
 * least; the high end has the same rank from above. From 10000 times on it is that of the normal
 * approximation. */
int vbs_measure_rank(int n);

/* Gives the probability that the true median lies below the interval of n times (n >= 1), which is
 * also the probability that it lies above: at most 0.025 from 6 times on. */
double vbs_measure_tail(int n);

#ifdef __cplusplus
}
#endif
#endif
