/*
 * vbslab/profile.h - profiles: the time and memory of each layer at each batch with each algorithm.
 *
 * A profile is immutable and self-contained. Times are microseconds of the whole batch, never per
 * sample. Bytes of activations grow linearly with the batch and are kept per sample. Every layer
 * has the same batches, batch 1 among them; at each it has one or more rows, one per algorithm.
 *
 * Threads: a profile is immutable and may be shared; a builder belongs to one thread.
 */
#ifndef VBSLAB_PROFILE_H
#define VBSLAB_PROFILE_H

#include "vbslab/reach.h"
#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A layer in a profile: its inputs, the sizes of its tensors, and the units in which it can be
 * divided. */
struct vbs_profile_layer {
    const char *name;
    const char *kind;
    int n_inputs;
    const int *inputs;    /* layers it reads, each less than its own id; 0 = the network's input */
    int64_t in_bytes;     /* per sample, all inputs together */
    int64_t out_bytes;    /* per sample */
    int64_t weight_bytes; /* of the whole layer */
    /* The output takes the place of those samples of inputs[0] that the step is the last to read:
     * a step adds max(0, out_bytes - bytes so freed). */
    bool in_place;
    /*
     * Output channels that have weights of their own, counted in the units that kernels cannot
     * divide (blocks of channels). A slice of the layer (schedule.h) consists of whole ones. 0: not
     * known; weights are then divided by the byte, as MMCNN does. The onednn backend counts the
     * blocks of its layouts, 8 or 16 channels each, and for an fc layer single channels where they
     * make no whole blocks.
     */
    int channels;
    /*
     * The rows of the output that steps can compute on their own: the indices of its first spatial
     * dimension. They take out_bytes / rows bytes each. Of a layer that accumulates (reach.h):
     * the rows of its inputs, which are equal; its output has none. 0: the layer computes whole
     * samples only, and its output may be read only whole.
     */
    int rows;
    const struct vbs_reach
        *reaches; /* [n_inputs]; null where the layer is never computed by rows */
};

/* A row: one algorithm of one layer at one batch. */
struct vbs_profile_row {
    int algorithm;    /* index into the profile's algorithms */
    double time_us;   /* whole batch: the median where measured; finite, >= 0 */
    int64_t ws_bytes; /* workspace during the step */
    /* Bytes of the weights as this algorithm packs them, once for the layer, whatever the batch.
     * Rows of a layer with the same format read the same packed weights and have the same
     * weight_bytes; another format is another copy. For a builder, 0 stands for the layer's own
     * weight_bytes. */
    int64_t weight_bytes;
    int format; /* 0, 1, ... < VBS_MAX_FORMATS */
    /* In how many slices the layer can run (schedule.h), each in its share of the time. 0: in any
     * number that vbs_profile_divisible allows; 1: it cannot be divided; n > 1: whole or in n
     * slices, as it was measured: time_us is that of all slices together, ws_bytes that of one. n
     * divides channels, if these are known. In a profile where any row has a number other than 0,
     * every row has its own. */
    int n_slices;
    /* Where n_runs is not 0: median absolute deviation, and 95% interval of the median. Where
     * n_runs and mad_us are 0 and high_us is not: the time is predicted, and lies in
     * low_us..high_us with 95% (predict.h). A builder sets any other interval without runs to 0. */
    double mad_us, low_us, high_us;
    int n_runs;
    /* 0: whole samples. Else the row is one of a stripe: so many rows of the output of each sample
     * of the batch, below the layer's rows; time_us and ws_bytes are those of one stripe. Its
     * n_slices is 1. */
    int rows;
};

/* A row of a stripe, with its batch. */
struct vbs_profile_stripe {
    int batch;
    struct vbs_profile_row row;
};

#define VBS_MAX_ALGORITHMS 4096 /* names of one profile */
#define VBS_MAX_TIME_US    1e18 /* of one row: sums over any schedule stay finite */
#define VBS_MAX_FORMATS    64   /* of one layer */
#define VBS_MAX_ROW_SLICES 4096 /* numbers of slices in which a row was measured */
#define VBS_MAX_COPIES     16   /* sources of one profile */
#define VBS_MAX_COPY_ROWS  256  /* of one source */
#define VBS_MAX_BESIDE     1e6  /* slower beside another */

/* How fast weights are copied into the memory that the budget bounds: one copy after another, each
 * in latency_us + bytes / bytes_per_us. */
struct vbs_link {
    const char *source; /* "page-cache", "disk", ...; "given": not measured */
    double latency_us;
    double bytes_per_us; /* 0: nothing can be copied */
    /* [0 .. layers of the profile]: how many times as long a copy takes while a layer computes (0),
     * and each layer (1 and on) while weights are copied. All are 1 or more. Owned by the profile;
     * null: not measured, nothing is slowed down. */
    const double *beside;
};

/* A measured size of copy, for a builder. */
struct vbs_copy_row {
    int64_t bytes;  /* >= 1 */
    double time_us; /* median; > 0 */
    /* Where n_runs is not 0, as in struct vbs_profile_row. */
    double mad_us, low_us, high_us;
    int n_runs;
};

/* The measured copies from one source, and the link that fits them. */
struct vbs_copy {
    const char *source;
    int n_rows;
    const struct vbs_copy_row *rows; /* bytes ascending */
    /* The line with the least squares of the relative errors of rows (GSL), with a latency of at
     * least 0; where there is one row, its rate without latency. */
    struct vbs_link link;
    double error_percent; /* largest distance of a row's time from link */
};

/* How fast the machine was when the rows were measured: the work of all threads of the session
 * together, by fixed loops (struct vbs_session_ops). All are 0 where this is not known. */
struct vbs_speed {
    double flops_per_us;        /* multiplications and additions of floats in registers */
    double cache_bytes_per_us;  /* bytes read of data that fit in the last-level cache, in part
                                   lines that another thread has written */
    double memory_bytes_per_us; /* bytes read of data that fit in no cache */
};

/* The provenance of the times; every text may be empty, none is null. */
struct vbs_provenance {
    const char *model;   /* name of the network, "" when unknown */
    const char *input;   /* its input shape, "3x227x227" */
    const char *backend; /* "onednn", "analytic", ... */
    const char *library; /* library, version and build */
    const char *device;  /* CPU or GPU model */
    const char *vbslab;  /* version of vbslab that measured */
    /* VBS_LAYOUT_ROWS: the tensors have the layouts of a session with stripes (backend.h), and the
     * kernels run in such sessions only. "": they have not, or it is not known. */
    const char *layout;
    const char *date;  /* UTC, ISO 8601 */
    const char *notes; /* clock, thread binding, noise: for people */
    /* VBS_TIMES_POSTERIOR: times of rows and their intervals are posterior ones (posterior.h). "":
     * medians of runs, predicted or modelled times, or not known. */
    const char *times;
    int threads; /* 0 when unknown */
};

/* The texts of struct vbs_provenance, X(member), which are also the keys in CSV and the store's
 * columns. Measurements are resumed only where those of the first list are equal; those of the
 * second may differ. */
#define VBS_PROVENANCE_MEASURED(X)                                                                 \
    X(model) X(input) X(backend) X(library) X(device) X(vbslab) X(layout)
#define VBS_PROVENANCE_TEXTS(X) VBS_PROVENANCE_MEASURED(X) X(date) X(notes) X(times)

/* The member layout of a session with stripes. */
#define VBS_LAYOUT_ROWS "rows"

/* The first word of the member times of a profile that vbs_profile_posterior has made. Where
 * schedules were executed, " +-2.5%" behind it is the standard deviation by which the times of all
 * schedules together differ from one stretch of time to another. */
#define VBS_TIMES_POSTERIOR    "posterior"
#define VBS_MOST_DRIFT_PERCENT 100

/* The first words of the notes of a profile whose times are predicted (predict.h). */
#define VBS_PREDICTED_NOTE "predicted, not measured"

/* Gives whether the notes of a profile's provenance say that its times are predicted. */
bool vbs_provenance_predicted(const struct vbs_provenance *provenance);

/* Returns whether the provenance of a profile says that its times are posterior ones. */
bool vbs_provenance_posterior(const struct vbs_provenance *provenance);

/* Returns the standard deviation, as a share, by which the times of all schedules together differ
 * from one stretch of time to another; 0 where the provenance does not say it. */
double vbs_provenance_drift(const struct vbs_provenance *provenance);

/* The rows of all layers of a network on one device, by batch and algorithm, the copies, the speed
 * of the machine, and their provenance. Immutable, may be shared between threads; freed by
 * vbs_profile_free. */
struct vbs_profile {
    int n_layers;
    /* [1..n_layers]; [0] stands for the network's input: out_bytes is the size of one sample of it,
     * rows are its rows, and it has no inputs. */
    const struct vbs_profile_layer *layers;
    int n_batches;
    const int *batches; /* ascending; batches[0] == 1 */
    int n_algorithms;
    const char *const *algorithms; /* names, ascending by their bytes */
    int n_copies;
    const struct vbs_copy *copies; /* in the order of the builder: the first is the default */
    struct vbs_speed speed;
    struct vbs_provenance provenance;
};

/* Gives the rows of whole samples of layer (1..n_layers) at batches[batch_index], ascending by
 * algorithm; *n_rows >= 1. Owned by the profile, all rows in one array: those of the next batch
 * follow, those of the next layer after the last batch. Constant time. */
const struct vbs_profile_row *vbs_profile_rows(const struct vbs_profile *profile, int layer,
                                               int batch_index, int *n_rows);

/* Gives the rows of stripes of layer (1..n_layers), ascending by batch, then by rows, then by
 * algorithm; *n_stripes may be 0. Owned by the profile, all in one array: those of the next layer
 * follow. Constant time. */
const struct vbs_profile_stripe *vbs_profile_stripes(const struct vbs_profile *profile, int layer,
                                                     int *n_stripes);

/* Gives the row of layer at batch with an algorithm, by its index; rows: of the stripe, where 0 and
 * the layer's own number of rows stand for whole samples. Null: there is none. O(rows of the
 * layer). */
const struct vbs_profile_row *vbs_profile_find_row(const struct vbs_profile *profile, int layer,
                                                   int batch, int rows, int algorithm);

/* Returns whether the profile is one of stripes, also where no layer has kernels on rows: the
 * layout of its provenance says so, or, as in profiles of earlier versions, some tensor has rows.
 * O(layers). */
bool vbs_profile_has_stripes(const struct vbs_profile *profile);

/* Gives the index of batch in profile->batches, or -1. Logarithmic. */
int vbs_profile_batch_index(const struct vbs_profile *profile, int batch);

/* Gives the index of an algorithm's name, or -1. */
int vbs_profile_algorithm(const struct vbs_profile *profile, const char *name);

/* Gives the copies from a source, or null. */
const struct vbs_copy *vbs_profile_copy(const struct vbs_profile *profile, const char *source);

/* Gives the bytes of the weights of all layers, each once, whatever the packing. O(layers). */
int64_t vbs_profile_weight_bytes(const struct vbs_profile *profile);

/* Gives the bytes of a layer's weights as the rows of this format pack them; the layer's
 * weight_bytes where no row has the format. O(rows of the layer). */
int64_t vbs_profile_format_bytes(const struct vbs_profile *profile, int layer, int format);

/* True where the layer can run the row in any number of slices, each in its share of the row's
 * time. False for a layer in place, for a row with another n_slices, and where the algorithm
 * transforms its weights, and so its input, once for every slice (Winograd): such an algorithm
 * packs them to more than 9/8 of the layer's bytes. */
bool vbs_profile_divisible(const struct vbs_profile_layer *layer,
                           const struct vbs_profile_row *row);

/* True where the layer can run the row in n slices: whole (n 1), as it was measured, or as
 * divisible. No slice is without a channel, if these are known. */
bool vbs_profile_divides(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                         int n);

/* The factors of a source of copies. */
struct vbs_calibrated_source {
    const char *source;
    const double *beside; /* as in struct vbs_link */
};

/* What a profile knows of the machine beside its rows: `vbslab calibrate`. */
struct vbs_calibration {
    struct vbs_speed speed; /* all 0: not known */
    int n_sources;          /* sources of copies with factors */
    struct vbs_calibrated_source sources[VBS_MAX_COPIES];
};

/* Gives the calibration of a profile, which points into the profile. O(sources). */
void vbs_profile_calibration(const struct vbs_profile *profile, struct vbs_calibration *made);

/* Makes a copy of a profile with this calibration in the place of its own. Sources that the profile
 * has no copies from are left out. VBS_FORMAT as for a builder; VBS_NO_MEMORY. O(rows). */
enum vbs_status vbs_profile_calibrate(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_calibration *calibration,
                                      struct vbs_profile **calibrated) VBS_MUST_CHECK;

#define VBS_PROFILE_HASH_SIZE 33 /* bytes of a content hash with its terminator */

/* Writes the content hash of a profile into text: 32 hexadecimal digits, the first half of a
 * SHA-256 over layers, rows, copies, speed and provenance. Profiles have one hash exactly when they
 * write the same CSV file (no two different ones are known or can be made); it is the same on every
 * machine. Linear in the rows: some 5 ns per byte of 100 bytes a row. */
void vbs_profile_hash(const struct vbs_profile *profile, char text[VBS_PROFILE_HASH_SIZE]);

/* Frees a profile and all that it points to; null is allowed. */
void vbs_profile_free(struct vbs_profile *profile);

/* The store of the single times behind a profile's rows, if they are kept (store.h). */
struct vbs_sample_source {
    void *self;
    /* Gives all times of a row, in any order; rows is that of struct vbs_profile_row. *n_times is 0
     * where none are kept. They stay valid until the next call. */
    enum vbs_status (*times)(struct vbs_ctx *ctx, void *self, int layer, int batch, int rows,
                             const char *algorithm, const double **times_us, int *n_times);
};

/*
 * Building a profile: layers in topological order, then rows in any order, then finish. Everything
 * is checked, and a fault is named with its layer and batch: inputs that do not come before the
 * layer, a layer without rows, a batch that some layer lacks, no batch 1, a repeated (layer, batch,
 * algorithm), a time that is negative, not finite or above VBS_MAX_TIME_US, bytes that are negative
 * or whose totals overflow, in_bytes above what the inputs produce (less is allowed: a layer may
 * read a part), rows of one format of a layer whose weight_bytes differ, slices with different
 * numbers of channels, or in place, names that are not UTF-8 or have VBS_MAX_NAME bytes or more.
 * All are VBS_FORMAT. Rows of stripes are no batches: a layer may have them at a batch or not.
 * Refused too: rows that do not divide out_bytes, reaches that are no reach, or of inputs without
 * rows, a layer that accumulates some of its inputs, or other numbers of rows than it has, a reader
 * of its rows, a stripe of a layer without rows, or of as many rows as the layer has or more.
 *
 * One sample of the network's input takes as much as the layer that reads most of it: in_bytes less
 * what its other inputs produce. Totals: (input + sum of in_bytes and out_bytes) * VBS_MAX_REQUEST
 * + largest ws_bytes + sum of weights fits in 63 bits, so that no planner's sum overflows; the
 * weights of a layer are its own or those of all its formats, whichever are more.
 */
struct vbs_profile_builder;

struct vbs_profile_builder *vbs_profile_builder_new(void); /* null: out of memory */
/* Frees a builder that has not made its profile; null is allowed. */
void vbs_profile_builder_free(struct vbs_profile_builder *builder);

/* Appends layer (copied); its id is the number of layers so far. */
enum vbs_status vbs_profile_builder_layer(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                          const struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* Sets the rows of the network's input (0: it is read only whole, as without this call). */
enum vbs_status vbs_profile_builder_input_rows(struct vbs_ctx *ctx,
                                               struct vbs_profile_builder *builder,
                                               int rows) VBS_MUST_CHECK;

/* Adds a row of layer at batch; row->algorithm is ignored, algorithm is the name. */
enum vbs_status vbs_profile_builder_row(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                        int layer, int batch, const char *algorithm,
                                        const struct vbs_profile_row *row) VBS_MUST_CHECK;

/* Adds a measured copy from source (UTF-8, not empty); sources and sizes come in any order, each
 * size once. VBS_FORMAT: as above, or more than 1e18 bytes per microsecond. */
enum vbs_status vbs_profile_builder_copy(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                         const char *source,
                                         const struct vbs_copy_row *row) VBS_MUST_CHECK;

/* Sets how many times as long layer takes while weights are copied from source, or with layer 0 a
 * copy while any layer computes: at least 1, at most VBS_MAX_BESIDE. Finishing refuses a source
 * that has no copies, or has such factors of some layers only. VBS_FORMAT. */
enum vbs_status vbs_profile_builder_beside(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                           const char *source, int layer,
                                           double factor) VBS_MUST_CHECK;

/* Sets the speed of the machine (optional); all of it above 0 and finite, or 0. VBS_FORMAT. */
enum vbs_status vbs_profile_builder_speed(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                          const struct vbs_speed *speed) VBS_MUST_CHECK;

/* Copies the provenance (optional; texts may be null). */
enum vbs_status vbs_profile_builder_provenance(
    struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
    const struct vbs_provenance *provenance) VBS_MUST_CHECK;

/* Checks and makes the profile; the builder stays the caller's and can only be freed then. */
enum vbs_status vbs_profile_builder_finish(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                           struct vbs_profile **profile) VBS_MUST_CHECK;

/*
 * CSV (docs/formats.md). Lines "# key: value" before the header carry the provenance and come back
 * on reading, and so do copies, "# copy: SOURCE,BYTES,TIME_US[,MAD_US,LOW_US,HIGH_US,N_RUNS]", what
 * they slow down, "# beside: SOURCE,FACTOR OF COPIES,FACTOR OF LAYER 1,...", and the speed of the
 * machine, "# speed: FLOPS_PER_US,CACHE_BYTES_PER_US,MEMORY_BYTES_PER_US"; other comments are
 * passed over. A value or source in quotes has line ends as \n, quotes and backslashes behind a
 * backslash, and other control characters as \xNN. Columns may stand in any order, further ones are
 * ignored except mad_us, low_us, high_us, n_runs, which come together, and channels, packed_bytes
 * (weight_bytes of the row), form and parts, which are 0 where missing. Numbers are read without
 * regard to the locale. A profile that was written and read is equal to the original, to the bit,
 * and equal profiles give the same file. VBS_FORMAT: "FILE:LINE: reason".
 */
enum vbs_status vbs_profile_read_csv(struct vbs_ctx *ctx, const char *path,
                                     struct vbs_profile **profile) VBS_MUST_CHECK;
/* Reads the same from a text in memory; source names it in messages. */
enum vbs_status vbs_profile_parse_csv(struct vbs_ctx *ctx, const char *source, const char *text,
                                      size_t length, struct vbs_profile **profile) VBS_MUST_CHECK;
/* Gives the CSV of a profile as a text, which the caller frees with free(). VBS_NO_MEMORY. */
enum vbs_status vbs_profile_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                char **text) VBS_MUST_CHECK;
/* Writes this text to a path; "-" is standard output. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_profile_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
