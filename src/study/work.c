/*
 * The loop of a worker: it takes over what others left, does what waits for it, and begins new
 * trials, until all have ended. Nothing but the store tells it what is to be done, so that it can
 * be killed at any point and any number of workers can share a study.
 */
#include "study/study.h"

#include "base/fail.h"
#include "base/options.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 100000000 /* while there is nothing to do */

typedef enum vbs_status stage_fn(struct study_work *w, const struct vbs_trial_record *trial,
                                 const struct vbs_trial_list *all);

static const struct vbs_trial_record *find_id(const struct vbs_trial_list *all, int64_t id)
{
    for (int i = 0; i < all->n_trials; i++)
        if (all->trials[i].id == id)
            return &all->trials[i];
    return NULL;
}

static enum vbs_status measure(struct study_work *w, const struct vbs_trial_record *trial,
                               const struct vbs_trial_list *all)
{
    (void)all;
    return study_trial_measure(w, trial);
}

static enum vbs_status judge(struct study_work *w, const struct vbs_trial_record *trial,
                             const struct vbs_trial_list *all)
{
    return study_trial_judge(w, trial, trial->number == 0 ? trial : &all->trials[0]);
}

/* Does one piece of work of a stage, where some waits. */
static enum vbs_status do_stage(struct study_work *w, const char *stage, stage_fn *work, bool *did)
{
    struct vbs_trial_list *all = NULL;
    const struct vbs_trial_record *trial;
    enum vbs_status status;
    int64_t id;

    VBS_TRY(vbs_store_trial_claim(w->ctx, w->store, w->id, stage, &id));
    if (id == 0)
        return VBS_OK;
    *did = true;
    status = vbs_store_trials(w->ctx, w->store, w->id, &all);
    trial = status == VBS_OK ? find_id(all, id) : NULL;
    if (trial)
        status = work(w, trial, all);
    vbs_trial_list_free(all);
    if (status != VBS_OK)
        study_give_back(w, id, stage);
    return status;
}

/* ---- what there is to begin ---- */

/* How a study stands. */
struct standing {
    int n_begun;   /* trials but the control */
    int n_running; /* all */
    int n_waiting; /* running trials that no living process owns */
    bool prepared; /* the control has been timed, and so have all widths */
    bool judged;   /* the control is complete */
};

static struct standing stand(const struct vbs_trial_list *all)
{
    struct standing s = {0};

    for (int i = 0; i < all->n_trials; i++) {
        const struct vbs_trial_record *t = &all->trials[i];
        bool runs = t->state == VBS_TRIAL_RUNNING;

        s.n_begun += t->number > 0;
        s.n_running += runs;
        s.n_waiting += runs && !t->owned && strcmp(t->stage, STAGE_JUDGE) != 0;
        if (t->number == 0) {
            s.prepared = strcmp(t->stage, STAGE_MEASURE) != 0;
            s.judged = !runs;
        }
    }
    return s;
}

/* Begins a trial where one is due. New trials wait until the times of all widths are known, and are
 * not begun ahead of the workers, so that each is chosen with as many results as possible. */
static enum vbs_status begin_next(struct study_work *w, bool *did, bool *over)
{
    struct vbs_trial_list *all = NULL;
    struct standing s;
    bool exhausted = false;
    enum vbs_status status = VBS_OK;

    VBS_TRY(vbs_store_trials(w->ctx, w->store, w->id, &all));
    s = stand(all);
    *over = s.n_begun >= w->study->n_trials && s.n_running == 0;
    if (all->n_trials == 0 || (s.prepared && s.n_begun < w->study->n_trials && s.n_waiting == 0 &&
                               w->options.role != VBS_STUDY_MEASURE))
        status = study_suggest(w, all, did, &exhausted);
    *over = *over || (exhausted && s.n_running == 0);
    vbs_trial_list_free(all);
    return status;
}

/* Judges trials once the control is complete. */
static enum vbs_status judge_waiting(struct study_work *w, bool *did)
{
    struct vbs_trial_list *all = NULL;
    bool judged;

    VBS_TRY(vbs_store_trials(w->ctx, w->store, w->id, &all));
    judged =
        all->n_trials > 0 && (stand(all).judged || strcmp(all->trials[0].stage, STAGE_JUDGE) == 0);
    vbs_trial_list_free(all);
    return judged ? do_stage(w, STAGE_JUDGE, judge, did) : VBS_OK;
}

static enum vbs_status turn(struct study_work *w, bool *did, bool *over)
{
    *did = *over = false;
    VBS_TRY(vbs_check_cancel(w->ctx));
    if (w->options.role != VBS_STUDY_TRAIN)
        VBS_TRY(judge_waiting(w, did));
    if (!*did && w->options.role != VBS_STUDY_TRAIN)
        VBS_TRY(do_stage(w, STAGE_MEASURE, measure, did));
    if (!*did && w->options.role != VBS_STUDY_MEASURE)
        VBS_TRY(do_stage(w, STAGE_TRAIN, study_trial_train, did));
    return *did ? VBS_OK : begin_next(w, did, over);
}

/* ---- the outcome ---- */

static enum vbs_status count(struct study_work *w, struct vbs_study_outcome *outcome)
{
    struct vbs_trial_list *all = NULL;

    VBS_TRY(vbs_store_trials(w->ctx, w->store, w->id, &all));
    for (int i = 0; i < all->n_trials; i++) {
        const struct vbs_trial_record *t = &all->trials[i];

        if (t->number == 0)
            continue;
        outcome->n_in_state[t->state]++;
        if (t->state == VBS_TRIAL_COMPLETE && !(vbs_trial_number(t, true, "margin") < 0))
            outcome->n_feasible++;
    }
    vbs_trial_list_free(all);
    return VBS_OK;
}

enum vbs_status vbs_study_work(struct vbs_ctx *ctx, struct vbs_store *store,
                               const struct vbs_study *study,
                               const struct vbs_study_options *options,
                               struct vbs_study_outcome *outcome)
{
    struct study_work w = {
        .ctx = ctx, .store = store, .study = study, .node = {-1, -1, VBS_NODE_FREE}};
    struct vbs_study_outcome result = {0};
    bool did, over = false;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_study_options", options, &w.options, sizeof w.options));
    if (!w.options.folder)
        return vbs_fail(ctx, VBS_USAGE, "a study needs a folder for its networks");
    if (!w.options.vbslab)
        w.options.vbslab = vbs_version();
    VBS_TRY(vbs_store_check_alone(ctx, store));
    status = study_work_open(&w);
    if (status == VBS_OK && w.options.ready)
        status = w.options.ready(w.options.self);
    while (status == VBS_OK && !over) {
        status = turn(&w, &did, &over);
        if (status != VBS_OK || did || over)
            continue;
        if (w.options.wait && !w.options.wait(w.options.self))
            break;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    if (status == VBS_OK)
        status = count(&w, &result);
    if (status == VBS_OK)
        *outcome = result;
    study_work_close(&w);
    return status;
}
