/*
 * The tasks that are tried with failures of all kinds: small tasks on a store and its profiles,
 * each of which ends with VBS_OK when nothing fails, and cleans up after itself in any case.
 */
#ifndef TESTS_FAULT_HELP_H
#define TESTS_FAULT_HELP_H

#include "vbslab/store.h"

#define FAULT_SAVED 2 /* complete profiles in the store before each task */

struct fault_place {
    char *store; /* path; has FAULT_SAVED complete profiles and an unfinished one */
    char *csv;   /* path; contains the first profile */
    char *fresh; /* path in a folder; neither exists */
    char *other; /* path of another store; has two profiles of model "merged", one with samples */
    char *networks; /* folder of the networks of both stores; a trial of other has one */
    char *pristine;
    size_t n_pristine;
    /* The profiles of the store, and one that it does not have. */
    struct vbs_profile *profiles[FAULT_SAVED + 1];
    struct vbs_profile *profile; /* the first */
};

struct fault_task {
    const char *name;
    enum vbs_status (*run)(struct vbs_ctx *ctx, const struct fault_place *place);
    bool uses_store;
};

/* Ends with a null name. */
extern const struct fault_task FAULT_TASKS[];

struct fault_place *fault_place_new(const char *folder);
void fault_place_free(struct fault_place *place);

/* Restores the state before any task. */
void fault_place_reset(const struct fault_place *place);

/* Gives null where the store is sound and its complete profiles are unchanged, else a text of the
 * damage. */
const char *fault_place_damage(const struct fault_place *place);

#endif
