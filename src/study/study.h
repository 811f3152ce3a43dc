/*
 * Internals that the files of this room share. description.c reads a description; workspace.c makes
 * it ready for work, with its network, its data and its search space; trial.c carries trials out,
 * work.c decides which; results.c gathers what came out, and tables.c and pictures.c show it.
 */
#ifndef VBS_STUDY_STUDY_H
#define VBS_STUDY_STUDY_H

#include "base/arena.h"
#include "base/ctx.h"
#include "base/node.h"
#include "base/text.h"
#include "vbslab/backend.h"
#include "vbslab/eval.h"
#include "vbslab/planner.h"
#include "vbslab/prune.h"
#include "vbslab/study.h"
#include "vbslab/train.h"
#include "vbslab/trials.h"
#include "vbslab/tune.h"

#include <jansson.h>

/* Equal samples that a kernel whose times are known has: as many as a measurement takes at most
 * where nothing else is said. */
#define KNOWN_SAMPLES 50

/* X(NAME, word, unit, sign): what a study can improve. sign: 1 where more is better, else -1. */
#define STUDY_OBJECTIVE_LIST(X)                                                                    \
    X(THROUGHPUT, "throughput", "samples/s", 1)                                                    \
    X(LATENCY, "latency", "us", -1)                                                                \
    X(ACCURACY, "accuracy", "%", 1)                                                                \
    X(HYBRID, "hybrid", "", 1)
#define STUDY_OBJECTIVE_ENUM(name, word, unit, sign) STUDY_##name,
enum study_objective { STUDY_OBJECTIVE_LIST(STUDY_OBJECTIVE_ENUM) STUDY_N_OBJECTIVES };
#undef STUDY_OBJECTIVE_ENUM

#define STUDY_MAX_OBJECTIVES 3

/* Gives the word, the unit and the sign of an objective. */
const char *study_objective_word(enum study_objective objective);
const char *study_objective_unit(enum study_objective objective);
int study_objective_sign(enum study_objective objective);

/* A parameter of the description: groups whose channels are removed in one proportion. */
struct study_parameter {
    const char *name;
    int n_groups;
    const char *const *groups; /* names or patterns, as vbs_prune_choose takes them */
    double low, high;          /* shares of the channels that are removed; high 0: the default */
    double step;               /* 0: the default */
};

/* A description. Numbers that are 0 are those of which the header says "0: ...". */
struct vbs_study {
    struct vbs_arena arena;
    const char *path; /* of the file */
    const char *name, *model, *data;
    char *canonical; /* JSON, of all that decides the results of a trial */
    int n_objectives;
    enum study_objective objectives[STUDY_MAX_OBJECTIVES];
    double hybrid_weight;
    double accuracy_at_least;     /* 0..1; 0: no such constraint */
    double accuracy_loss_at_most; /* below the control's, 0..1; below 0: no such constraint */
    enum vbs_sampler sampler;
    bool model_speed; /* speed is modelled like accuracy, although it is known */
    int64_t n_trials, n_initial, seed;
    int64_t training_seed; /* of all trials; below 0: each has its own */
    int64_t least_epochs;
    double reduction;
    enum vbs_prune_ranking ranking;
    const char *preset;
    int64_t round; /* channels that stay are rounded up to a multiple of it; 0: the default */
    /* Training. */
    int64_t epochs, batch, threads, shift, validation;
    double rate, momentum, weight_decay, warm_up, label_smoothing;
    bool mirror, nesterov;
    enum vbs_optimiser optimiser;
    enum vbs_rate_course schedule;
    /* Times. */
    const char *backend, *batches;
    int64_t measure_threads;
    double measure_seconds;
    /* The plan. */
    int64_t memory, request;
    enum vbs_io io;
    enum vbs_weights weights;
    const char *planner;
    double latency_us;
    int n_parameters;
    struct study_parameter *parameters;
};

/* ---- workspace.c ---- */

/* The shares of the channels of a parameter's groups that can be removed: each gives other widths.
 */
struct study_levels {
    int n;
    double *shares; /* [n] ascending */
};

/* A study that is ready for work. Borrows study, store and context. */
struct study_work {
    struct vbs_ctx *ctx;
    struct vbs_store *store;
    const struct vbs_study *study;
    struct vbs_study_options options;
    struct vbs_arena arena;
    int64_t id; /* of the study in the store */
    struct vbs_network *network;
    struct vbs_prune_groups *groups;
    double *scores;              /* [groups->n_channels] */
    int *parameter_of;           /* [groups->n_groups] the parameter that prunes a group, or -1 */
    struct study_levels *levels; /* [n_parameters] */
    struct vbs_search_parameter *axes; /* [n_parameters] numbers of levels */
    struct vbs_search_space space;
    struct vbs_dataset *images, *validation;
    struct vbs_normalise normalise;
    const struct vbs_backend *backend;
    const struct vbs_planner *planner;
    int *batches;
    int n_batches;
    double *known; /* [points of the space][n_objectives] speeds that were computed; NAN: not yet */
    int threads;   /* of the times, once a profile has told; else 0 */
    int64_t n_known;
    struct vbs_node_lock node; /* the machine, which is shared while this process computes */
};

/* Makes a study ready: opens network and data, finds the groups and their levels, and finds or
 * makes the study in the store. */
enum vbs_status study_work_open(struct study_work *w) VBS_MUST_CHECK;
void study_work_close(struct study_work *w);

/* Computes how many channels of each group stay, [groups->n_groups], at levels [n_parameters];
 * null: all stay. */
void study_keep(const struct study_work *w, const double *levels, int64_t *keep);

/* Gives the level of a parameter whose share is nearest. */
int study_level(const struct study_work *w, int parameter, double share);

#define STUDY_HASH_SIZE 33 /* bytes of a hash as text, with the zero behind it */

/* Tells what is being done, where somebody listens. */
void study_report(const struct study_work *w, int trial, double done, const char *format, ...)
    VBS_PRINTF(4, 5);

/* ---- speed.c ---- */

/* How fast a pruned network is. */
struct study_speed {
    bool fits;            /* a schedule fits the memory */
    double samples_per_s; /* of the request in the memory; 0: there is no bound of memory */
    double latency_us;    /* of one sample */
    int64_t peak_bytes;
    int max_batch;
    char reason[VBS_DETAIL_SIZE]; /* why nothing fits */
};

/* Waits a little. */
void study_pause(void);

/* Waits until no process takes times on this machine, and shares it from then on; vbs_node_release
 * ends this. */
enum vbs_status study_share_machine(struct study_work *w) VBS_MUST_CHECK;

/* Assembles the profile of the network that keeps so many channels and plans it. may_measure: times
 * that are missing are measured, alone on this machine; else VBS_NOT_FOUND. */
enum vbs_status study_speed(struct study_work *w, const int64_t *keep, bool may_measure,
                            struct study_speed *speed) VBS_MUST_CHECK;

/* Measures all geometries that points of the space have, as far as pairs of parameters decide them.
 */
enum vbs_status study_measure_all(struct study_work *w) VBS_MUST_CHECK;

/* Gives whether the speeds of all points are known without measuring, for the sampler. */
bool study_knows_speed(const struct study_work *w);

/* Gives a known objective, as struct vbs_sampler_options wants it. */
double study_known(void *self, int objective, const double *levels);

/* ---- trial.c ---- */

/* Stages of a trial. */
#define STAGE_MEASURE "measure"
#define STAGE_TRAIN   "train"
#define STAGE_JUDGE   "judge"

/* Do what comes next with a trial that this process owns; control: the control's record, or null.
 */
enum vbs_status study_trial_measure(struct study_work *w,
                                    const struct vbs_trial_record *trial) VBS_MUST_CHECK;
enum vbs_status study_trial_train(struct study_work *w, const struct vbs_trial_record *trial,
                                  const struct vbs_trial_list *all) VBS_MUST_CHECK;
enum vbs_status study_trial_judge(struct study_work *w, const struct vbs_trial_record *trial,
                                  const struct vbs_trial_record *control) VBS_MUST_CHECK;

/* Gives an objective of a complete trial, larger is better; the latency is one over the latency. */
double study_value(enum study_objective objective, const struct vbs_trial_record *trial);

/* Gives back a trial with which this process could not go on, so that any process can at once, and
 * not only when this one has ended. */
void study_give_back(struct study_work *w, int64_t id, const char *stage);

/* ---- suggest.c ---- */

/* Begins the next trial; *begun is false where there is none to begin now, and *exhausted tells
 * that there never will be. */
enum vbs_status study_suggest(struct study_work *w, const struct vbs_trial_list *all, bool *begun,
                              bool *exhausted) VBS_MUST_CHECK;

/* ---- results.c ---- */

/* Results, and what follows from them. Trials are numbers in list->trials. */
struct vbs_study_results {
    const struct vbs_study *study; /* borrowed */
    struct vbs_trial_list *list;
    struct vbs_arena arena;
    int control;        /* -1: it has not ended */
    int n_complete;     /* complete trials but the control */
    int *complete;      /* [n_complete] */
    double *points;     /* [n_complete][n_parameters] shares */
    double *values;     /* [n_complete][n_objectives], maximised */
    bool *feasible;     /* [n_complete] */
    bool *on_front;     /* [n_complete] feasible, and no feasible one is better */
    int best;           /* of the complete ones; -1: none is feasible */
    double hypervolume; /* of the front, of several objectives; NAN: it has fewer than two trials */
    struct vbs_search_parameter *axes; /* [n_parameters] the ranges of shares that were tried */
    double *importance; /* [n_parameters] for the first objective; null: too few trials */
    double spent_s;     /* of all trials */
};

/* Gives an objective of a trial as people read it: latency in us, accuracy in percent. */
double study_shown(enum study_objective objective, const struct vbs_trial_record *trial);

#endif
