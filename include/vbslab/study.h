/*
 * vbslab/study.h - searching for the channels that a network can do without.
 *
 * A study prunes a network in many ways, trains each pruned network on, and plans it anew for a
 * budget of memory: what it looks for is not the smallest network but the best plan. Its trials
 * live in a store (trials.h), so that it can be stopped at any point, continued, and shared by any
 * number of processes. Kernel times are measured once for each geometry of a layer (timings.h), so
 * that the speed of a pruned network is known without training it.
 *
 * Threads: a study is immutable and may be shared; a worker belongs to one thread.
 */
#ifndef VBSLAB_STUDY_H
#define VBSLAB_STUDY_H

#include "vbslab/backend.h"
#include "vbslab/measure.h"
#include "vbslab/report.h"
#include "vbslab/store.h"
#include "vbslab/trials.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_STUDY_MAX_PARAMETERS 64

/* ---- profiles from kernel times by geometry ---- */

/* How to assemble a profile. Begin with {.struct_size = sizeof(struct vbs_assemble_options)}. */
struct vbs_assemble_options {
    size_t struct_size;
    const struct vbs_backend *backend;
    const int *batches; /* ascending, batches[0] == 1 */
    int n_batches;
    int threads;                        /* as struct vbs_backend_options */
    bool may_measure;                   /* measure what the store does not have */
    bool copies;                        /* the profile has the times of copies, too */
    const char *folder;                 /* for the file that copies are measured with; null: "." */
    const char *vbslab;                 /* the build, for the provenance; null: vbs_version() */
    struct vbs_measure_options measure; /* struct_size is not needed */
    /* Where may_measure is not set: looks up the times of so many threads, and asks a session of
     * one thread about the layers, which is opened much faster; 0: a session of `threads`. */
    int lookup_threads;
};

/* Where the times of an assembled profile came from. */
struct vbs_assemble_report {
    int n_geometries;  /* different ones in the network */
    int n_missing;     /* of these, those of which the store had no times */
    int64_t n_samples; /* taken now */
    double measured_s; /* the time that this took */
};

/*
 * Assembles the profile of a network from the kernel times by geometry that the store has. Where
 * some are missing and may_measure is set, the whole network is run in place to measure them, and
 * they are kept in the store; equal layers share their samples. The result is equal to that of
 * measuring the network in all bytes, and in times within noise. report may be null; *profile is
 * freed by vbs_profile_free.
 *
 * VBS_NOT_FOUND: times are missing and may_measure is not set; *report is set. VBS_UNSUPPORTED: the
 * backend tells no geometries. Errors of opening a session, of measuring and of the store.
 */
enum vbs_status vbs_profile_assemble(struct vbs_ctx *ctx, struct vbs_store *store,
                                     const struct vbs_network *network,
                                     const struct vbs_assemble_options *options,
                                     struct vbs_assemble_report *report,
                                     struct vbs_profile **profile) VBS_MUST_CHECK;

/* ---- studies ---- */

/* The description of a study. Immutable; freed by vbs_study_free. */
struct vbs_study;

/* Reads a description (docs/formats.md). VBS_USAGE names the table and the key, and the nearest
 * name where there is no such key; VBS_IO, VBS_FORMAT (no TOML), VBS_NO_MEMORY. The network and the
 * data are not opened. */
enum vbs_status vbs_study_read(struct vbs_ctx *ctx, const char *path,
                               struct vbs_study **study) VBS_MUST_CHECK;
/* Frees a description; null is allowed. */
void vbs_study_free(struct vbs_study *study);

/* Gives the name of a study, and the number of trials that it shall have beside the control. */
const char *vbs_study_name(const struct vbs_study *study);
int vbs_study_trials(const struct vbs_study *study);

/* The work of a worker. */
enum vbs_study_role {
    VBS_STUDY_ALL,    /* suggests, trains, measures and plans */
    VBS_STUDY_TRAIN,  /* suggests and trains */
    VBS_STUDY_MEASURE /* measures, plans and judges */
};

/* What happens in a study, for the caller to show. */
struct vbs_study_event {
    int trial;         /* number; -1: none */
    const char *doing; /* one line, such as "trains, epoch 2 of 5, loss 0.4312" */
    double done;       /* share of this piece of work; below 0: not known */
    bool ended;        /* a trial has ended; doing says how */
};

/* How to work on a study. Begin with {.struct_size = sizeof(struct vbs_study_options)}. */
struct vbs_study_options {
    size_t struct_size;
    enum vbs_study_role role;
    bool join;          /* the study must have been begun */
    const char *vbslab; /* the build; null: vbs_version() */
    const char *folder; /* where the networks of trials are kept; it is made where it is missing */
    int threads;        /* of training, where the description names none; 0: all */
    void *self;
    /* Is called often; null: never. */
    void (*report)(void *self, const struct vbs_study_event *event);
    /* Is called once, when network, data and study have been opened, before any work; its failure
     * ends the call. Null: never. */
    enum vbs_status (*ready)(void *self);
    /* Is asked while there is nothing to do: whether to wait for others. Null: true. */
    bool (*wait)(void *self);
};

/* How a study stands. */
struct vbs_study_outcome {
    int n_in_state[VBS_N_TRIAL_STATES]; /* of all trials but the control */
    int n_feasible;                     /* of the complete ones, those that are accurate enough */
};

/*
 * Works on a study until all its trials have ended. The first trial, number 0, is the control: the
 * network itself, trained on for as long as the others. A worker that is killed at any point loses
 * at most one minute of one trial; what it worked on is continued by the next one.
 *
 * Times are taken by one process of a machine at a time, while all others that train or measure
 * pause: they share a lock of the machine.
 *
 * Errors: VBS_USAGE (parameters without effect, words, another description of this name, another
 * build), VBS_NOT_FOUND (join), VBS_IO and VBS_FORMAT (network, data, folder), VBS_UNSUPPORTED (a
 * network that cannot be trained), VBS_STORE (also a store that other machines use or may use,
 * vbs_store_check_alone), VBS_INTERRUPTED (the study can go on), VBS_NO_MEMORY.
 * A trial that cannot be carried out is no error; its reason is in the store.
 */
enum vbs_status vbs_study_work(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_study *study,
                               const struct vbs_study_options *options,
                               struct vbs_study_outcome *outcome) VBS_MUST_CHECK;

/* ---- results ---- */

/*
 * The results of a study as the store has them, also while it runs. Immutable; freed by
 * vbs_study_results_free.
 */
struct vbs_study_results;

/* Reads the results. The network and the data are not needed. VBS_NOT_FOUND, VBS_USAGE (another
 * description), VBS_STORE, VBS_NO_MEMORY. */
enum vbs_status vbs_study_results_read(struct vbs_ctx *ctx, struct vbs_store *store,
                                       const struct vbs_study *study,
                                       struct vbs_study_results **results) VBS_MUST_CHECK;
/* Frees results; null is allowed. */
void vbs_study_results_free(struct vbs_study_results *results);

/* Gives the number of the best trial, of several objectives the one with the largest part in the
 * hypervolume; -1: no trial is complete. */
int vbs_study_best(const struct vbs_study_results *results);

/* Gives the trials; they belong to results. */
const struct vbs_trial_list *vbs_study_trial_list(const struct vbs_study_results *results);

/* Give the results as a table for people, as JSON and as CSV; texts are freed by the caller.
 * columns, colour: as in report.h. VBS_NO_MEMORY. */
enum vbs_status vbs_study_table(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                                int columns, char **text) VBS_MUST_CHECK;
enum vbs_status vbs_study_json(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                               char **text) VBS_MUST_CHECK;
enum vbs_status vbs_study_csv(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                              char **text) VBS_MUST_CHECK;

/* X(NAME, word): the pictures of a study. */
#define VBS_STUDY_PLOT_LIST(X)                                                                     \
    X(HISTORY, "history")                                                                          \
    X(IMPORTANCE, "importance")                                                                    \
    X(PARALLEL, "parallel")                                                                        \
    X(SLICE, "slice")                                                                              \
    X(CONTOUR, "contour")                                                                          \
    X(PARETO, "pareto")

#define VBS_STUDY_PLOT_ENUM(name, word) VBS_STUDY_PLOT_##name,
/* The pictures of VBS_STUDY_PLOT_LIST. */
enum vbs_study_plot { VBS_STUDY_PLOT_LIST(VBS_STUDY_PLOT_ENUM) VBS_N_STUDY_PLOTS };
#undef VBS_STUDY_PLOT_ENUM

/* Finds a picture by its word; VBS_USAGE suggests the nearest. */
enum vbs_status vbs_study_plot_find(struct vbs_ctx *ctx, const char *word,
                                    enum vbs_study_plot *plot) VBS_MUST_CHECK;

/* Draws a picture; path, options and errors as vbs_compare_plot. Series are the objectives of a
 * history; the parameters of importance, parallel and slice, and the two of a contour, the first on
 * the axis of x; feasible, infeasible, front and control of the front. VBS_USAGE: there are too few
 * trials, or too few parameters or objectives, for it. */
enum vbs_status vbs_study_draw(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                               enum vbs_study_plot plot, const struct vbs_plot_options *options,
                               const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
