/*
 * vbslab/trials.h - studies and their trials, kept in a store.
 *
 * A study is a search; a trial is one point of its search space, and what came out for it. Its
 * state is one of tune.h. A trial that runs has a stage, a word that says which work comes next,
 * and an owner: the process that does it. Each change is one transaction, so that two processes
 * never work on one trial, and what a process had committed when it was killed is there for the
 * next one. A trial that has ended never changes.
 *
 * Threads: those of store.h.
 */
#ifndef VBSLAB_TRIALS_H
#define VBSLAB_TRIALS_H

#include "vbslab/store.h"
#include "vbslab/tune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The texts of a study. */
struct vbs_study_record {
    const char *name;        /* the only study of this name in its store */
    const char *description; /* JSON */
    const char *hash;        /* of all that decides the results of its trials */
    const char *vbslab;      /* the build that runs it */
};

/*
 * Gives the id of the study of this name; where there is none and make is set, it is made.
 * VBS_USAGE: there is one of this name with another hash, or of another build (the detail says
 * which, and what helps). VBS_NOT_FOUND: there is none, and make is not set; the detail suggests
 * the nearest name. VBS_STORE, VBS_NO_MEMORY.
 */
enum vbs_status vbs_store_study(struct vbs_ctx *ctx, struct vbs_store *store,
                                const struct vbs_study_record *study, bool make,
                                int64_t *id) VBS_MUST_CHECK;

/* A parameter or a result of a trial. */
struct vbs_trial_value {
    bool is_result;   /* else a parameter */
    const char *name; /* not empty */
    double value;     /* finite */
};

/* A trial as the store has it. */
struct vbs_trial_record {
    int64_t id;
    int number; /* 0, 1, ... of its study */
    enum vbs_trial_state state;
    const char *stage; /* "" when it has ended */
    uint64_t seed;
    bool owned;        /* a process that seems to be alive works on it */
    const char *begun; /* UTC, ISO 8601 */
    const char *ended; /* "" while it runs */
    double spent_s;
    const char *file;   /* "" where it made none */
    const char *reason; /* of an infeasible or failed one */
    int n_values;
    const struct vbs_trial_value *values; /* ascending by kind and name */
};

/* Gives a value of a trial, or NAN where the trial has none of this name. O(values). */
double vbs_trial_number(const struct vbs_trial_record *trial, bool is_result, const char *name);

/* The trials of a study, ascending by number. Immutable; freed by vbs_trial_list_free. */
struct vbs_trial_list {
    int n_trials;
    const struct vbs_trial_record *trials;
};

/* Reads all trials of a study. VBS_STORE, VBS_NO_MEMORY. */
enum vbs_status vbs_store_trials(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                 struct vbs_trial_list **list) VBS_MUST_CHECK;
/* Frees a list; null is allowed. */
void vbs_trial_list_free(struct vbs_trial_list *list);

/* A trial to begin. */
struct vbs_trial_begin {
    int number;
    uint64_t seed;
    const char *stage; /* its first one */
    int n_values;
    const struct vbs_trial_value *values;
};

/* Begins a trial, which this process owns then. *id is 0, and nothing is written, where the study
 * has a trial of this number. VBS_STORE, also where another machine works in the store;
 * VBS_NO_MEMORY. */
enum vbs_status vbs_store_trial_begin(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                      const struct vbs_trial_begin *begin,
                                      int64_t *id) VBS_MUST_CHECK;

/* Takes over the running trial with the lowest number that waits at this stage and that no living
 * process owns; *id is 0 where there is none. VBS_STORE, also where another machine works in the
 * store. */
enum vbs_status vbs_store_trial_claim(struct vbs_ctx *ctx, struct vbs_store *store, int64_t study,
                                      const char *stage, int64_t *id) VBS_MUST_CHECK;

/* Refuses a store that other machines use, or may use, because SQLite's write-ahead log works on
 * one machine only. VBS_STORE, as far as that can be told: the store lies on a network file system
 * (NFS, SMB, 9p, FUSE and others), or has unfinished work of another machine, which wrote to it in
 * the last ten minutes. The second is checked by each call that begins or takes over work, too.
 * O(profiles + studies + running trials). */
enum vbs_status vbs_store_check_alone(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;

/* Says that this process still works on the trial, to processes in other containers, which cannot
 * see it: at least every few minutes. VBS_STORE: the trial is another process's by now. */
enum vbs_status vbs_store_trial_touch(struct vbs_ctx *ctx, struct vbs_store *store,
                                      int64_t id) VBS_MUST_CHECK;

/* What an owner did with a trial. Members that are null or 0 change nothing. */
struct vbs_trial_step {
    enum vbs_trial_state state; /* another than VBS_TRIAL_RUNNING ends the trial */
    const char *stage;          /* while it runs: the next one; the trial then has no owner */
    double spent_s;             /* added to the trial's */
    const char *file, *reason;
    const char *training; /* a hash of all that decides the network that was trained */
    int n_values;
    const struct vbs_trial_value *values; /* replace those of the same kind and name */
};

/* Commits what this process did with a trial that it owns, in one transaction. VBS_STORE: the trial
 * is another process's by now, and nothing was changed. */
enum vbs_status vbs_store_trial_step(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     const struct vbs_trial_step *step) VBS_MUST_CHECK;

/* Finds the next trial of any study that was trained with this hash (struct vbs_trial_step) and has
 * a file, in the order in which they began. *trial is the id of the one before, or 0, and becomes
 * that of the one found, 0 where there is none; *study is the id of its study and *number its
 * number. O(log trials). VBS_STORE. */
enum vbs_status vbs_store_trained(struct vbs_ctx *ctx, struct vbs_store *store,
                                  const char *training, int64_t *trial, int64_t *study,
                                  int *number) VBS_MUST_CHECK;

/* Deletes a study with its trials. VBS_NOT_FOUND; VBS_STORE: a living process works on one of its
 * trials. */
enum vbs_status vbs_store_study_delete(struct vbs_ctx *ctx, struct vbs_store *store,
                                       const char *name) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
