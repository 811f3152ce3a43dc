/*
 * The next trial of a study: the trials so far as a sampler sees them, its suggestion, and the
 * trial in the store. Two processes may suggest at once; only one of them gets the number, and the
 * other one asks again with the new trial among those that run.
 */
#include "study/study.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

/* The trials of a study but the control, as the sampler sees them. */
struct seen_trials {
    struct vbs_search_trial *trials;
    int n;
    double *points;      /* [n][n_parameters] levels */
    double *objectives;  /* [n][n_objectives] */
    double *constraints; /* [n] */
};

static void clear(struct seen_trials *seen)
{
    free(seen->trials);
    free(seen->points);
    free(seen->objectives);
    free(seen->constraints);
}

static bool is_constrained(const struct vbs_study *s)
{
    return s->accuracy_at_least > 0 || s->accuracy_loss_at_most >= 0;
}

/* Fills trial number i of the sampler's from the record. */
static void see(const struct study_work *w, const struct vbs_trial_record *record, int i,
                struct seen_trials *seen)
{
    const struct vbs_study *s = w->study;
    double *point = seen->points + (size_t)i * (size_t)s->n_parameters;
    double *objectives = seen->objectives + (size_t)i * (size_t)s->n_objectives;
    double epochs = vbs_trial_number(record, true, "epochs");
    double continues = vbs_trial_number(record, true, "continues");

    for (int p = 0; p < s->n_parameters; p++)
        point[p] = study_level(w, p, vbs_trial_number(record, false, s->parameters[p].name));
    for (int o = 0; o < s->n_objectives; o++)
        objectives[o] = study_value(s->objectives[o], record);
    seen->constraints[i] = vbs_trial_number(record, true, "margin");
    /* Trials count from 1, after the control; so do the indices in `continues`. */
    seen->trials[i] =
        (struct vbs_search_trial){.point = point,
                                  .state = record->state,
                                  .objectives = objectives,
                                  .constraints = is_constrained(s) ? &seen->constraints[i] : NULL,
                                  .epochs = isnan(epochs) ? 0 : (int)epochs,
                                  .continues = isnan(continues) ? 0 : (int)continues};
}

static enum vbs_status see_all(const struct study_work *w, const struct vbs_trial_list *all,
                               struct seen_trials *seen)
{
    size_t n = (size_t)all->n_trials + 1;

    *seen = (struct seen_trials){
        .trials = calloc(n, sizeof *seen->trials),
        .points = calloc(n * (size_t)w->study->n_parameters, sizeof *seen->points),
        .objectives = calloc(n * (size_t)w->study->n_objectives, sizeof *seen->objectives),
        .constraints = calloc(n, sizeof *seen->constraints)};
    if (!seen->trials || !seen->points || !seen->objectives || !seen->constraints)
        return vbs_no_memory(w->ctx);
    for (int i = 0; i < all->n_trials; i++)
        if (all->trials[i].number > 0)
            see(w, &all->trials[i], seen->n++, seen);
    return VBS_OK;
}

static unsigned known_of(const struct study_work *w)
{
    unsigned known = 0;

    for (int o = 0; o < w->study->n_objectives && study_knows_speed(w); o++)
        if (w->study->objectives[o] == STUDY_THROUGHPUT || w->study->objectives[o] == STUDY_LATENCY)
            known |= 1U << o;
    return known;
}

static enum vbs_status ask(struct study_work *w, const struct seen_trials *seen, double *point,
                           struct vbs_suggestion *suggestion)
{
    const struct vbs_study *s = w->study;
    const struct vbs_sampler_options options = {.struct_size = sizeof options,
                                                .sampler = s->sampler,
                                                .seed = (uint64_t)s->seed,
                                                .n_objectives = s->n_objectives,
                                                .n_constraints = is_constrained(s),
                                                .n_initial = (int)s->n_initial,
                                                .known_objectives = known_of(w),
                                                .known = study_known,
                                                .self = w,
                                                .min_epochs = (int)s->least_epochs,
                                                .max_epochs = (int)s->epochs,
                                                .reduction = (int)s->reduction};

    return vbs_sampler_suggest(w->ctx, &w->space, &options, seen->trials, seen->n, point,
                               suggestion);
}

/* Writes the suggested trial; *begun is false where another process has taken its number. */
static enum vbs_status begin(struct study_work *w, int number, const double *point,
                             const struct vbs_suggestion *suggestion, bool *begun)
{
    const struct vbs_study *s = w->study;
    struct vbs_trial_value values[VBS_STUDY_MAX_PARAMETERS + 2];
    struct vbs_trial_begin trial = {
        .number = number,
        .seed = (uint64_t)(s->training_seed >= 0 ? s->training_seed : s->seed + number),
        .stage = STAGE_MEASURE,
        .values = values};
    const struct vbs_trial_step hand_on = {.stage = STAGE_MEASURE};
    enum vbs_status status;
    int64_t id;

    for (int p = 0; p < s->n_parameters && point; p++)
        values[trial.n_values++] = (struct vbs_trial_value){
            false, s->parameters[p].name, w->levels[p].shares[(int)lround(point[p])]};
    if (suggestion && suggestion->epochs > 0)
        values[trial.n_values++] = (struct vbs_trial_value){true, "epochs", suggestion->epochs};
    else
        values[trial.n_values++] = (struct vbs_trial_value){true, "epochs", (double)s->epochs};
    if (suggestion && suggestion->continues > 0)
        values[trial.n_values++] =
            (struct vbs_trial_value){true, "continues", suggestion->continues};
    VBS_TRY(vbs_store_trial_begin(w->ctx, w->store, w->id, &trial, &id));
    *begun = id != 0;
    status = *begun ? vbs_store_trial_step(w->ctx, w->store, id, &hand_on) : VBS_OK;
    if (status != VBS_OK)
        study_give_back(w, id, STAGE_MEASURE);
    return status;
}

enum vbs_status study_suggest(struct study_work *w, const struct vbs_trial_list *all, bool *begun,
                              bool *exhausted)
{
    double point[VBS_STUDY_MAX_PARAMETERS];
    struct vbs_suggestion suggestion = {0};
    struct seen_trials seen;
    enum vbs_status status;

    *begun = *exhausted = false;
    if (all->n_trials == 0)
        return begin(w, 0, NULL, NULL, begun);
    study_report(w, -1, -1, "chooses the next trial");
    status = see_all(w, all, &seen);
    if (status == VBS_OK)
        status = study_share_machine(w);
    if (status == VBS_OK)
        status = ask(w, &seen, point, &suggestion);
    vbs_node_release(&w->node);
    clear(&seen);
    *exhausted = status == VBS_NOT_FOUND;
    if (status != VBS_OK)
        return *exhausted ? VBS_OK : status;
    return begin(w, all->trials[all->n_trials - 1].number + 1, point, &suggestion, begun);
}
