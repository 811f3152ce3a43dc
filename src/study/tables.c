/* The results of a study as a table, as JSON and as CSV. */
#include "study/study.h"

#include "base/fail.h"
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The results of trials that files have, in this order. */
static const char *const result_names[] = {
    "accuracy",  "loss",       "latency", "throughput", "hybrid",    "margin", "peak_bytes",
    "max_batch", "parameters", "macs",    "epochs",     "continues", "reused"};

#define N_RESULTS ((int)(sizeof result_names / sizeof result_names[0]))
#define CELL      9 /* characters of a column */

/* ---- what tables and files say alike ---- */

/* Gives whether the trial is complete and accurate enough. */
static bool is_feasible(const struct vbs_trial_record *trial)
{
    return trial->state == VBS_TRIAL_COMPLETE && !(vbs_trial_number(trial, true, "margin") < 0);
}

static const char *state_word(const struct vbs_trial_record *trial)
{
    return trial->state == VBS_TRIAL_RUNNING && !trial->owned ? "waiting"
                                                              : vbs_trial_state_word(trial->state);
}

/* Writes a number as people read it, such as "1234", "12.3" or "-", into a column. */
static void add_number(struct vbs_text *text, double value)
{
    if (!isfinite(value))
        vbs_text_addf(text, " %*s", CELL, "-");
    else
        vbs_text_addf(text, " %*.*f", CELL,
                      fabs(value) >= 1000 ? 0
                      : fabs(value) >= 10 ? 1
                                          : 3,
                      value);
}

static void add_percent(struct vbs_text *text, double share)
{
    if (isnan(share))
        vbs_text_addf(text, " %*s", CELL, "-");
    else
        vbs_text_addf(text, " %*.1f%%", CELL - 1, 100 * share);
}

/* ---- the table ---- */

/* Gives how many columns of parameters fit. */
static int count_shown(const struct vbs_study *s, int columns)
{
    int fit = ((columns > 0 ? columns : 100) - 17 - 5 * (CELL + 1)) / (CELL + 1);

    fit = fit < 1 ? 1 : fit;
    return fit < s->n_parameters ? fit : s->n_parameters;
}

/* Writes a name into a column: its end, where it is too long. */
static void add_name(struct vbs_text *text, const char *name)
{
    size_t length = strlen(name);

    vbs_text_addf(text, " ");
    if (length > CELL)
        vbs_text_addf(text, "~%s", name + length - (CELL - 1));
    else
        vbs_text_addf(text, "%*s", CELL, name);
}

static void add_head(struct vbs_text *text, const struct vbs_study_results *r)
{
    const struct vbs_study *s = r->study;
    int n[VBS_N_TRIAL_STATES] = {0}, n_low = 0;

    for (int i = 0; i < r->list->n_trials; i++)
        if (r->list->trials[i].number > 0) {
            n[r->list->trials[i].state]++;
            n_low +=
                r->list->trials[i].state == VBS_TRIAL_COMPLETE && !is_feasible(&r->list->trials[i]);
        }
    vbs_text_addf(text, "study %s: %d of %lld trials complete", s->name, n[VBS_TRIAL_COMPLETE],
                  (long long)s->n_trials);
    if (n_low > 0)
        vbs_text_addf(text, " (%d not accurate enough)", n_low);
    if (n[VBS_TRIAL_INFEASIBLE] > 0)
        vbs_text_addf(text, ", %d that do not fit the memory", n[VBS_TRIAL_INFEASIBLE]);
    if (n[VBS_TRIAL_FAILED] > 0)
        vbs_text_addf(text, ", %d failed", n[VBS_TRIAL_FAILED]);
    if (n[VBS_TRIAL_RUNNING] > 0)
        vbs_text_addf(text, ", %d under way", n[VBS_TRIAL_RUNNING]);
    vbs_text_addf(text, "; %.1f min of work\nobjective", r->spent_s / 60);
    for (int o = 0; o < s->n_objectives; o++)
        vbs_text_addf(text, "%s %s", o ? "," : "", study_objective_word(s->objectives[o]));
    if (s->memory > 0)
        vbs_text_addf(text, "; memory %lld bytes, request %lld, io %s, weights %s",
                      (long long)s->memory, (long long)s->request, vbs_io_word(s->io),
                      vbs_weights_word(s->weights));
    if (s->accuracy_at_least > 0)
        vbs_text_addf(text, "; accuracy at least %g%%", 100 * s->accuracy_at_least);
    if (s->accuracy_loss_at_most >= 0)
        vbs_text_addf(text, "; accuracy at most %g points below the control's",
                      100 * s->accuracy_loss_at_most);
    vbs_text_addf(text, "\n\n");
}

static void add_columns(struct vbs_text *text, const struct vbs_study *s, int n_shown)
{
    vbs_text_addf(text, "%*s", 17, "");
    for (int p = 0; p < n_shown; p++)
        vbs_text_addf(text, " %*s", CELL, "removed");
    vbs_text_addf(text, "\ntrial  %-10s", "state");
    for (int p = 0; p < n_shown; p++)
        add_name(text, s->parameters[p].name);
    vbs_text_addf(text, " %*s %*s %*s %*s %*s\n-----  ----------", CELL, "accuracy", CELL,
                  "samples/s", CELL, "us", CELL, "hybrid", CELL, "work");
    for (int p = 0; p < n_shown + 5; p++)
        vbs_text_addf(text, " ---------");
    vbs_text_addf(text, "\n");
}

static void add_trial(struct vbs_text *text, const struct vbs_study_results *r, int i, int n_shown)
{
    const struct vbs_trial_record *t = &r->list->trials[i];
    bool best = r->best >= 0 && r->complete[r->best] == i;
    const char *word = t->number == 0                                      ? "control"
                       : t->state == VBS_TRIAL_COMPLETE && !is_feasible(t) ? "inaccurate"
                                                                           : state_word(t);

    vbs_text_addf(text, "%4d%s  %-10s", t->number, best ? "*" : " ", word);
    for (int p = 0; p < n_shown; p++)
        add_percent(text, vbs_trial_number(t, false, r->study->parameters[p].name));
    add_percent(text, vbs_trial_number(t, true, "accuracy"));
    add_number(text, vbs_trial_number(t, true, "throughput"));
    add_number(text, vbs_trial_number(t, true, "latency"));
    add_number(text, vbs_trial_number(t, true, "hybrid"));
    vbs_text_addf(text, " %*.1f s\n", CELL - 2, t->spent_s);
}

/* Says what the best trial has, beside the control. */
static void add_best(struct vbs_text *text, const struct vbs_study_results *r)
{
    const struct vbs_study *s = r->study;
    const struct vbs_trial_record *control = r->control >= 0 ? &r->list->trials[r->control] : NULL;
    const struct vbs_trial_record *best =
        r->best >= 0 ? &r->list->trials[r->complete[r->best]] : NULL;

    if (!best) {
        vbs_text_addf(text, "\nno trial is complete and accurate enough\n");
        return;
    }
    vbs_text_addf(text, "\nbest (*): trial %d:", best->number);
    for (int o = 0; o < s->n_objectives; o++) {
        double own = study_shown(s->objectives[o], best);
        double base = control ? study_shown(s->objectives[o], control) : (double)NAN;

        vbs_text_addf(text, "%s %s %.6g%s%s", o ? "," : "", study_objective_word(s->objectives[o]),
                      own, s->objectives[o] == STUDY_ACCURACY ? "" : " ",
                      study_objective_unit(s->objectives[o]));
        if (isfinite(base) && base > 0)
            vbs_text_addf(text, " (control %.6g)", base);
    }
    vbs_text_addf(text, "; accuracy %.2f%%", 100 * vbs_trial_number(best, true, "accuracy"));
    if (control)
        vbs_text_addf(text, " (control %.2f%%)", 100 * vbs_trial_number(control, true, "accuracy"));
    vbs_text_addf(text, "\n");
    if (isfinite(r->hypervolume))
        vbs_text_addf(text, "hypervolume of the Pareto front: %.6g\n", r->hypervolume);
}

static void add_importance(struct vbs_text *text, const struct vbs_study_results *r)
{
    if (!r->importance)
        return;
    vbs_text_addf(text, "importance for %s (share of its variance, fANOVA on a forest):",
                  study_objective_word(r->study->objectives[0]));
    for (int p = 0; p < r->study->n_parameters; p++)
        vbs_text_addf(text, "%s %s %.2f", p ? "," : "", r->study->parameters[p].name,
                      r->importance[p]);
    vbs_text_addf(text, "\n");
}

static enum vbs_status give(struct vbs_ctx *ctx, struct vbs_text *made, char **text)
{
    if (made->failed || !made->data) {
        vbs_text_clear(made);
        return vbs_no_memory(ctx);
    }
    *text = made->data;
    return VBS_OK;
}

enum vbs_status vbs_study_table(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                                int columns, char **text)
{
    struct vbs_text made = {0};
    int n_shown = count_shown(results->study, columns);

    add_head(&made, results);
    add_columns(&made, results->study, n_shown);
    for (int i = 0; i < results->list->n_trials; i++)
        add_trial(&made, results, i, n_shown);
    if (n_shown < results->study->n_parameters)
        vbs_text_addf(&made, "%d more parameters are in --csv and --json\n",
                      results->study->n_parameters - n_shown);
    add_best(&made, results);
    add_importance(&made, results);
    return give(ctx, &made, text);
}

/* ---- CSV ---- */

static void add_csv_number(struct vbs_text *text, double value)
{
    vbs_text_addf(text, ",");
    if (isfinite(value))
        vbs_text_add_double(text, value);
}

static void add_csv_trial(struct vbs_text *text, const struct vbs_study *s,
                          const struct vbs_trial_record *t)
{
    vbs_text_addf(text, "%d,%s,%d,%llu,%s,%s", t->number, state_word(t), is_feasible(t),
                  (unsigned long long)t->seed, t->begun, t->ended);
    add_csv_number(text, t->spent_s);
    for (int p = 0; p < s->n_parameters; p++)
        add_csv_number(text, vbs_trial_number(t, false, s->parameters[p].name));
    for (int i = 0; i < N_RESULTS; i++)
        add_csv_number(text, vbs_trial_number(t, true, result_names[i]));
    vbs_text_addf(text, ",");
    vbs_text_add_csv(text, t->file);
    vbs_text_addf(text, ",");
    vbs_text_add_csv(text, t->reason);
    vbs_text_addf(text, "\n");
}

enum vbs_status vbs_study_csv(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                              char **text)
{
    const struct vbs_study *s = results->study;
    struct vbs_text made = {0};

    vbs_text_addf(&made, "trial,state,feasible,seed,begun,ended,spent_s");
    for (int p = 0; p < s->n_parameters; p++) {
        struct vbs_text name = {0};

        vbs_text_addf(&name, "removed:%s", s->parameters[p].name);
        vbs_text_addf(&made, ",");
        vbs_text_add_csv(&made, name.failed ? "" : name.data);
        made.failed = made.failed || name.failed;
        vbs_text_clear(&name);
    }
    for (int i = 0; i < N_RESULTS; i++)
        vbs_text_addf(&made, ",%s", result_names[i]);
    vbs_text_addf(&made, ",file,reason\n");
    for (int i = 0; i < results->list->n_trials; i++)
        add_csv_trial(&made, s, &results->list->trials[i]);
    return give(ctx, &made, text);
}

/* ---- JSON ---- */

static void put(json_t *object, const char *key, json_t *value, bool *failed)
{
    if (json_object_set_new(object, key, value) != 0)
        *failed = true;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *trial_json(const struct vbs_study_results *r, const struct vbs_trial_record *t,
                          bool *failed)
{
    const struct vbs_study *s = r->study;
    json_t *made = json_object(), *removed = json_object(), *results = json_object();

    for (int p = 0; p < s->n_parameters; p++)
        put(removed, s->parameters[p].name,
            number(vbs_trial_number(t, false, s->parameters[p].name)), failed);
    for (int i = 0; i < N_RESULTS; i++)
        put(results, result_names[i], number(vbs_trial_number(t, true, result_names[i])), failed);
    put(made, "trial", json_integer(t->number), failed);
    put(made, "state", json_string(state_word(t)), failed);
    put(made, "feasible", json_boolean(is_feasible(t)), failed);
    put(made, "seed", json_integer((json_int_t)t->seed), failed);
    put(made, "begun", json_string(t->begun), failed);
    put(made, "ended", t->ended[0] ? json_string(t->ended) : json_null(), failed);
    put(made, "spent_s", json_real(t->spent_s), failed);
    put(made, "removed", removed, failed);
    put(made, "results", results, failed);
    put(made, "file", t->file[0] ? json_string(t->file) : json_null(), failed);
    put(made, "reason", t->reason[0] ? json_string(t->reason) : json_null(), failed);
    return made;
}

static json_t *importance_json(const struct vbs_study_results *r, bool *failed)
{
    json_t *made;

    if (!r->importance)
        return json_null();
    made = json_object();
    for (int p = 0; p < r->study->n_parameters; p++)
        put(made, r->study->parameters[p].name, json_real(r->importance[p]), failed);
    return made;
}

static json_t *front_json(const struct vbs_study_results *r, bool *failed)
{
    json_t *made = json_array();

    for (int i = 0; i < r->n_complete; i++)
        if (r->on_front[i] &&
            json_array_append_new(made, json_integer(r->list->trials[r->complete[i]].number)) != 0)
            *failed = true;
    return made;
}

enum vbs_status vbs_study_json(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                               char **text)
{
    const struct vbs_study *s = results->study;
    json_t *root = json_object(), *objectives = json_array(), *trials = json_array();
    struct vbs_text made = {0};
    bool failed = false;

    for (int o = 0; o < s->n_objectives; o++)
        if (json_array_append_new(objectives,
                                  json_string(study_objective_word(s->objectives[o]))) != 0)
            failed = true;
    for (int i = 0; i < results->list->n_trials; i++)
        if (json_array_append_new(trials,
                                  trial_json(results, &results->list->trials[i], &failed)) != 0)
            failed = true;
    put(root, "format", json_string("vbslab-study-1"), &failed);
    put(root, "vbslab", json_string(vbs_version()), &failed);
    put(root, "study", json_string(s->name), &failed);
    put(root, "model", json_string(s->model), &failed);
    put(root, "data", json_string(s->data), &failed);
    put(root, "objectives", objectives, &failed);
    put(root, "memory_bytes", s->memory > 0 ? json_integer(s->memory) : json_null(), &failed);
    put(root, "requested_trials", json_integer(s->n_trials), &failed);
    put(root, "spent_s", json_real(results->spent_s), &failed);
    put(root, "best", results->best < 0 ? json_null() : json_integer(vbs_study_best(results)),
        &failed);
    put(root, "front", front_json(results, &failed), &failed);
    put(root, "hypervolume", number(results->hypervolume), &failed);
    put(root, "importance", importance_json(results, &failed), &failed);
    put(root, "trials", trials, &failed);
    vbs_text_add_json(&made, failed ? NULL : root, JSON_INDENT(1));
    vbs_text_add(&made, "\n");
    json_decref(root);
    return give(ctx, &made, text);
}
