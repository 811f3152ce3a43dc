/* The results of a study as a table, as JSON and as CSV. */
#include "study/study.h"

#include "base/fail.h"
#include "base/json.h"
#include "vbslab/units.h"

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

static void add_percent(struct vbs_text *text, int width, double share)
{
    if (isnan(share))
        vbs_text_addf(text, " %*s", width, "-");
    else
        vbs_text_addf(text, " %*.1f%%", width - 1, 100 * share);
}

/* ---- the table ---- */

#define NO_TERMINAL 100 /* columns that the table then has */
#define HEAD        17  /* characters of number and state */
#define SHARE       6   /* least characters of the column of a parameter: "12.5%" */

/* The columns of the table. Those of parameters bear their names where all fit, else numbers. */
struct study_layout {
    int columns; /* of the terminal; 0: there is none, and lines are not broken */
    int n_shown; /* parameters */
    int width;   /* of the column of a parameter */
    bool named, throughput, hybrid, work;
};

static struct study_layout lay_out(const struct vbs_study *s, int columns)
{
    struct study_layout l = {.columns = columns, .width = SHARE, .throughput = s->memory > 0};
    int left = (columns > 0 ? columns : NO_TERMINAL) - HEAD, longest = SHARE;

    for (int o = 0; o < s->n_objectives; o++)
        l.hybrid = l.hybrid || s->objectives[o] == STUDY_HYBRID;
    left -= (CELL + 1) * (2 + l.throughput + l.hybrid);
    for (int p = 0; p < s->n_parameters; p++)
        if ((int)strlen(s->parameters[p].name) > longest)
            longest = (int)strlen(s->parameters[p].name);
    l.named = s->n_parameters * (longest + 1) <= left;
    if (l.named)
        l.width = longest;
    l.n_shown = left / (l.width + 1);
    if (l.n_shown > s->n_parameters)
        l.n_shown = s->n_parameters;
    if (l.n_shown < 1)
        l.n_shown = 1;
    l.work = left - l.n_shown * (l.width + 1) >= CELL + 1;
    return l;
}

/* Appends a text with a line feed; where it is wider than the terminal it is broken at spaces. */
static void add_lines(struct vbs_text *text, int columns, struct vbs_text *line)
{
    const char *at = line->data ? line->data : "";
    size_t width = columns > 0 ? (size_t)columns : SIZE_MAX;

    for (int i = 0; *at; i++) {
        size_t room = i > 0 ? width - 2 : width, length = strlen(at);

        if (length > room) {
            for (length = room; length > 0 && at[length] != ' ';)
                length--;
            if (length == 0)
                length = strcspn(at, " ");
        }
        vbs_text_add(text, i > 0 ? "  " : "");
        vbs_text_add_bytes(text, at, length);
        vbs_text_add(text, "\n");
        at += length + strspn(at + length, " ");
    }
    text->failed = text->failed || line->failed;
    vbs_text_clear(line);
}

static void add_state(struct vbs_text *text, const struct vbs_study_results *r)
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
    vbs_text_addf(text, "; %.1f min of work", r->spent_s / 60);
}

static void add_aim(struct vbs_text *text, const struct vbs_study *s)
{
    char bytes[32];

    vbs_text_add(text, "objective");
    for (int o = 0; o < s->n_objectives; o++)
        vbs_text_addf(text, "%s %s", o ? "," : "", study_objective_word(s->objectives[o]));
    if (s->memory > 0)
        vbs_text_addf(text, "; memory %s, request %lld, io %s, weights %s",
                      vbs_format_bytes(s->memory, bytes, sizeof bytes), (long long)s->request,
                      vbs_io_word(s->io), vbs_weights_word(s->weights));
    if (s->accuracy_at_least > 0)
        vbs_text_addf(text, "; accuracy at least %g%%", 100 * s->accuracy_at_least);
    if (s->accuracy_loss_at_most >= 0)
        vbs_text_addf(text, "; accuracy at most %g points below the control's",
                      100 * s->accuracy_loss_at_most);
}

static void add_rule(struct vbs_text *text, int width)
{
    vbs_text_add(text, " ");
    for (int i = 0; i < width; i++)
        vbs_text_add(text, "-");
}

static void add_columns(struct vbs_text *text, const struct vbs_study *s,
                        const struct study_layout *l)
{
    int n_cells = 2 + l->throughput + l->hybrid + l->work;

    vbs_text_addf(text, "%*s removed\ntrial  %-10s", HEAD, "", "state");
    for (int p = 0; p < l->n_shown; p++)
        if (l->named)
            vbs_text_addf(text, " %*s", l->width, s->parameters[p].name);
        else
            vbs_text_addf(text, " %*d", l->width, p + 1);
    vbs_text_addf(text, " %*s", CELL, "accuracy");
    if (l->throughput)
        vbs_text_addf(text, " %*s", CELL, "samples/s");
    vbs_text_addf(text, " %*s", CELL, "us");
    if (l->hybrid)
        vbs_text_addf(text, " %*s", CELL, "hybrid");
    if (l->work)
        vbs_text_addf(text, " %*s", CELL, "work");
    vbs_text_add(text, "\n-----  ----------");
    for (int p = 0; p < l->n_shown; p++)
        add_rule(text, l->width);
    for (int i = 0; i < n_cells; i++)
        add_rule(text, CELL);
    vbs_text_add(text, "\n");
}

static void add_trial(struct vbs_text *text, const struct vbs_study_results *r, int i,
                      const struct study_layout *l)
{
    const struct vbs_trial_record *t = &r->list->trials[i];
    bool best = r->best >= 0 && r->complete[r->best] == i;
    const char *word = t->number == 0                                      ? "control"
                       : t->state == VBS_TRIAL_COMPLETE && !is_feasible(t) ? "inaccurate"
                                                                           : state_word(t);

    vbs_text_addf(text, "%4d%s  %-10s", t->number, best ? "*" : " ", word);
    for (int p = 0; p < l->n_shown; p++)
        add_percent(text, l->width, vbs_trial_number(t, false, r->study->parameters[p].name));
    add_percent(text, CELL, vbs_trial_number(t, true, "accuracy"));
    if (l->throughput)
        add_number(text, vbs_trial_number(t, true, "throughput"));
    add_number(text, vbs_trial_number(t, true, "latency"));
    if (l->hybrid)
        add_number(text, vbs_trial_number(t, true, "hybrid"));
    if (l->work)
        vbs_text_addf(text, " %*.1f s", CELL - 2, t->spent_s);
    vbs_text_add(text, "\n");
}

/* Names the parameters whose columns have numbers, and tells how many have none. */
static void add_legend(struct vbs_text *text, const struct vbs_study *s,
                       const struct study_layout *l)
{
    struct vbs_text line = {0};

    vbs_text_add(&line, "removed of");
    for (int p = 0; p < l->n_shown; p++)
        vbs_text_addf(&line, "%s %d:%s", p ? "," : "", p + 1, s->parameters[p].name);
    if (l->n_shown < s->n_parameters)
        vbs_text_addf(&line, "; %d more in --csv and --json", s->n_parameters - l->n_shown);
    add_lines(text, l->columns, &line);
}

/* Appends a result of the best trial beside the control's, which may be null. */
static void add_result(struct vbs_text *text, enum study_objective objective,
                       const struct vbs_trial_record *best, const struct vbs_trial_record *control)
{
    const char *unit = study_objective_unit(objective);
    double base = control ? study_shown(objective, control) : (double)NAN;
    bool percent = objective == STUDY_ACCURACY;

    vbs_text_addf(text, " %s ", study_objective_word(objective));
    if (percent)
        vbs_text_addf(text, "%.2f%%", study_shown(objective, best));
    else
        vbs_text_addf(text, "%.6g%s%s", study_shown(objective, best), unit[0] ? " " : "", unit);
    if (isfinite(base) && base > 0)
        vbs_text_addf(text, percent ? " (control %.2f%%)" : " (control %.6g)", base);
}

/* Says what the best trial has, beside the control. */
static void add_best(struct vbs_text *text, const struct vbs_study_results *r)
{
    const struct vbs_study *s = r->study;
    const struct vbs_trial_record *control = r->control >= 0 ? &r->list->trials[r->control] : NULL;
    const struct vbs_trial_record *best =
        r->best >= 0 ? &r->list->trials[r->complete[r->best]] : NULL;
    bool accuracy = false;

    if (!best) {
        vbs_text_add(text, "no trial is complete and accurate enough");
        return;
    }
    vbs_text_addf(text, "best (*): trial %d:", best->number);
    for (int o = 0; o < s->n_objectives; o++) {
        vbs_text_add(text, o ? "," : "");
        add_result(text, s->objectives[o], best, control);
        accuracy = accuracy || s->objectives[o] == STUDY_ACCURACY;
    }
    if (!accuracy) {
        vbs_text_add(text, ";");
        add_result(text, STUDY_ACCURACY, best, control);
    }
}

static void add_importance(struct vbs_text *text, const struct vbs_study_results *r)
{
    vbs_text_addf(text, "importance for %s (share of its variance, fANOVA on a forest):",
                  study_objective_word(r->study->objectives[0]));
    for (int p = 0; p < r->study->n_parameters; p++)
        vbs_text_addf(text, "%s %s %.2f", p ? "," : "", r->study->parameters[p].name,
                      r->importance[p]);
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
    struct vbs_text made = {0}, line = {0};
    const struct study_layout l = lay_out(results->study, columns);

    add_state(&line, results);
    add_lines(&made, columns, &line);
    add_aim(&line, results->study);
    add_lines(&made, columns, &line);
    vbs_text_add(&made, "\n");
    add_columns(&made, results->study, &l);
    for (int i = 0; i < results->list->n_trials; i++)
        add_trial(&made, results, i, &l);
    if (!l.named)
        add_legend(&made, results->study, &l);
    vbs_text_add(&made, "\n");
    add_best(&line, results);
    add_lines(&made, columns, &line);
    if (results->study->n_objectives > 1 && results->best >= 0) {
        vbs_text_add(&line, "hypervolume of the Pareto front: ");
        if (isfinite(results->hypervolume))
            vbs_text_addf(&line, "%.6g", results->hypervolume);
        else
            vbs_text_add(&line, "none, because it is one trial");
        add_lines(&made, columns, &line);
    }
    if (results->importance) {
        add_importance(&line, results);
        add_lines(&made, columns, &line);
    }
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
    vbs_text_addf(text, "%d,%s,%d,%llu,", t->number, state_word(t), is_feasible(t),
                  (unsigned long long)t->seed);
    vbs_text_add_csv(text, t->begun); /* a merge may have brought it from elsewhere */
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, t->ended);
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
