/* Pictures of a study, by gnuplot: this file writes data and labels, plots/study.gp draws them.
 * Shares and accuracies are shown in percent. */
#include "study/study.h"

#include "base/fail.h"
#include "base/parse.h"
#include "report/plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL      40 /* characters of a name */
#define GRID       41 /* points of a contour in each direction */
#define MOST_LINES 40 /* parameters of a picture */

/* A picture that is being made. */
struct picture {
    struct vbs_ctx *ctx;
    const struct vbs_study_results *r;
    struct vbs_text script, data;
};

static const struct vbs_trial_record *trial_of(const struct vbs_study_results *r, int i)
{
    return &r->list->trials[r->complete[i]];
}

static double share_of(const struct vbs_study_results *r, int i, int p)
{
    return 100 * r->points[(size_t)i * (size_t)r->study->n_parameters + (size_t)p];
}

static double accuracy_of(const struct vbs_trial_record *trial)
{
    return 100 * vbs_trial_number(trial, true, "accuracy");
}

/* Gives whether more of the objective is better, as it is shown. */
static bool rises(const struct vbs_study_results *r, int objective)
{
    return study_objective_sign(r->study->objectives[objective]) > 0;
}

static void add_number(struct vbs_text *text, double value)
{
    vbs_gnuplot_add_number(text, " ", value, "");
}

static void set_number(struct picture *p, const char *name, double value)
{
    vbs_text_addf(&p->script, "%s =", name);
    add_number(&p->script, value);
    vbs_text_addf(&p->script, "\n");
}

static void set_text(struct picture *p, const char *name, const char *text)
{
    vbs_text_addf(&p->script, "%s = ", name);
    vbs_gnuplot_add_string(&p->script, text, 2 * LABEL);
    vbs_text_addf(&p->script, "\n");
}

/* Sets element number i of an array of texts. */
static void set_element(struct picture *p, const char *array, int i, const char *text)
{
    vbs_text_addf(&p->script, "%s[%d] = ", array, i);
    vbs_gnuplot_add_string(&p->script, text, LABEL);
    vbs_text_addf(&p->script, "\n");
}

static void end_block(struct picture *p)
{
    /* A block without lines would not count. */
    vbs_text_addf(&p->data, "NaN NaN NaN\n\n\n");
}

/* Writes the label of an objective: "throughput (samples/s)". */
static void objective_label(enum study_objective objective, char label[LABEL])
{
    const char *unit = study_objective_unit(objective);

    snprintf(label, LABEL, "%s%s%s%s", study_objective_word(objective), unit[0] ? " (" : "", unit,
             unit[0] ? ")" : "");
}

/* ---- history ---- */

/* Writes the trials over an objective, and its best value so far. */
static void add_history(struct picture *p, int o)
{
    const struct vbs_study_results *r = p->r;
    enum study_objective objective = r->study->objectives[o];
    double best = (double)NAN;

    for (int wanted = 1; wanted >= 0; wanted--) {
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted) {
                vbs_text_addf(&p->data, "%d", trial_of(r, i)->number);
                add_number(&p->data, study_shown(objective, trial_of(r, i)));
                vbs_text_addf(&p->data, "\n");
            }
        end_block(p);
    }
    for (int i = 0; i < r->n_complete; i++) {
        double value = study_shown(objective, trial_of(r, i));

        if (r->feasible[i] && (isnan(best) || (rises(r, o) ? value > best : value < best)))
            best = value;
        vbs_text_addf(&p->data, "%d", trial_of(r, i)->number);
        add_number(&p->data, best);
        vbs_text_addf(&p->data, "\n");
    }
    end_block(p);
}

static enum vbs_status draw_history(struct picture *p)
{
    for (int o = 0; o < p->r->study->n_objectives; o++)
        add_history(p, o);
    return VBS_OK;
}

/* ---- importance ---- */

/* Orders parameters by importance, the least first. */
static void order(const struct vbs_study_results *r, int *sorted)
{
    int n = r->study->n_parameters;

    for (int i = 0; i < n; i++) {
        int at = i;

        for (; at > 0 && r->importance[sorted[at - 1]] > r->importance[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = i;
    }
}

static enum vbs_status fail_few(struct picture *p, const char *what)
{
    return vbs_fail(p->ctx, VBS_USAGE, "study '%s' has too few %s for this picture",
                    p->r->study->name, what);
}

static enum vbs_status draw_importance(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int sorted[VBS_STUDY_MAX_PARAMETERS], n = r->study->n_parameters;
    int first = n > MOST_LINES ? n - MOST_LINES : 0;

    if (!r->importance)
        return fail_few(p, "complete trials");
    order(r, sorted);
    vbs_text_addf(&p->script, "vbs_n = %d\narray vbs_name[%d]\n", n - first, n - first);
    for (int i = first; i < n; i++) {
        set_element(p, "vbs_name", i - first + 1, r->study->parameters[sorted[i]].name);
        vbs_text_addf(&p->data, "%d", i - first + 1);
        add_number(&p->data, 100 * r->importance[sorted[i]]);
        vbs_text_addf(&p->data, "\n");
    }
    end_block(p);
    return VBS_OK;
}

/* ---- parallel coordinates ---- */

/* Gives the value of a trial on an axis: parameters, objectives, and the accuracy last where it is
 * no objective. */
static double on_axis(const struct vbs_study_results *r, int i, int axis)
{
    const struct vbs_study *s = r->study;

    if (axis < s->n_parameters)
        return share_of(r, i, axis);
    if (axis < s->n_parameters + s->n_objectives)
        return study_shown(s->objectives[axis - s->n_parameters], trial_of(r, i));
    return accuracy_of(trial_of(r, i));
}

static bool has_accuracy(const struct vbs_study *s)
{
    for (int o = 0; o < s->n_objectives; o++)
        if (s->objectives[o] == STUDY_ACCURACY)
            return true;
    return false;
}

/* Writes the value at an end of an axis. */
static void axis_text(bool percent, double value, char *text, size_t size)
{
    snprintf(text, size, "%.*f%s",
             value == 0 || fabs(value) >= 1000 ? 0
             : fabs(value) >= 10               ? 1
                                               : 3,
             value, percent ? "%" : "");
}

static void set_axis(struct picture *p, int axis, double low, double high)
{
    const struct vbs_study *s = p->r->study;
    char label[LABEL], text[32];

    if (axis < s->n_parameters)
        snprintf(label, sizeof label, "%s", s->parameters[axis].name);
    else if (axis < s->n_parameters + s->n_objectives)
        objective_label(s->objectives[axis - s->n_parameters], label);
    else
        snprintf(label, sizeof label, "accuracy (%%)");
    set_element(p, "vbs_name", axis + 1, label);
    axis_text(axis < s->n_parameters, low, text, sizeof text);
    set_element(p, "vbs_low", axis + 1, text);
    axis_text(axis < s->n_parameters, high, text, sizeof text);
    set_element(p, "vbs_high", axis + 1, text);
}

static enum vbs_status draw_parallel(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    int n = s->n_parameters + s->n_objectives + !has_accuracy(s);
    double low[VBS_STUDY_MAX_PARAMETERS + 4], high[VBS_STUDY_MAX_PARAMETERS + 4];

    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    vbs_text_addf(&p->script,
                  "vbs_n = %d\narray vbs_name[%d]\narray vbs_low[%d]\narray vbs_high[%d]\n", n, n,
                  n, n);
    for (int a = 0; a < n; a++) {
        low[a] = HUGE_VAL;
        high[a] = -HUGE_VAL;
        for (int i = 0; i < r->n_complete; i++) {
            low[a] = fmin(low[a], on_axis(r, i, a));
            high[a] = fmax(high[a], on_axis(r, i, a));
        }
        set_axis(p, a, low[a], high[a]);
    }
    set_number(p, "vbs_from", low[s->n_parameters]);
    set_number(p, "vbs_to", high[s->n_parameters]);
    for (int wanted = 0; wanted < 2; wanted++) {
        for (int i = 0; i < r->n_complete; i++) {
            if (r->feasible[i] != wanted)
                continue;
            for (int a = 0; a < n; a++) {
                double extent = high[a] - low[a];

                vbs_text_addf(&p->data, "%d", a + 1);
                add_number(&p->data, extent > 0 ? (on_axis(r, i, a) - low[a]) / extent : 0.5);
                add_number(&p->data, on_axis(r, i, s->n_parameters));
                vbs_text_addf(&p->data, "\n");
            }
            vbs_text_addf(&p->data, "\n");
        }
        end_block(p);
    }
    return VBS_OK;
}

/* ---- slices ---- */

static enum vbs_status draw_slice(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int n = r->study->n_parameters < MOST_LINES ? r->study->n_parameters : MOST_LINES;

    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    vbs_text_addf(&p->script, "vbs_n = %d\narray vbs_name[%d]\n", n, n);
    for (int k = 0; k < n; k++)
        set_element(p, "vbs_name", k + 1, r->study->parameters[k].name);
    set_number(p, "vbs_last", trial_of(r, r->n_complete - 1)->number);
    for (int i = 0; i < r->n_complete; i++) {
        vbs_text_addf(&p->data, "%d %d", trial_of(r, i)->number, r->feasible[i]);
        for (int o = 0; o < r->study->n_objectives; o++)
            add_number(&p->data, study_shown(r->study->objectives[o], trial_of(r, i)));
        for (int k = 0; k < n; k++)
            add_number(&p->data, share_of(r, i, k));
        vbs_text_addf(&p->data, "\n");
    }
    vbs_text_addf(&p->data, "\n\n");
    return VBS_OK;
}

/* ---- contours ---- */

/* Gives the value that people read of one that is maximised. */
static double shown(enum study_objective objective, double value)
{
    return objective == STUDY_LATENCY    ? 1e6 / value
           : objective == STUDY_ACCURACY ? 100 * value
                                         : value;
}

/* Predicts the objective over the two parameters, while all others are as in the best trial, or,
 * where none is feasible, as in the first. */
static enum vbs_status predict(struct picture *p, int x, int y, double *mean)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    size_t d = (size_t)s->n_parameters;
    const double *fixed = r->points + (size_t)(r->best >= 0 ? r->best : 0) * d;
    const struct vbs_search_space space = {.n_parameters = s->n_parameters, .parameters = r->axes};
    double *at = calloc((size_t)GRID * GRID * d, sizeof *at);
    double *values = calloc((size_t)r->n_complete, sizeof *values);
    double *deviation = calloc((size_t)GRID * GRID, sizeof *deviation);
    int n = r->n_complete < 500 ? r->n_complete : 500;
    enum vbs_status status = at && values && deviation ? VBS_OK : vbs_no_memory(p->ctx);

    for (int i = 0; i < GRID * GRID && status == VBS_OK; i++) {
        double *point = at + (size_t)i * d;

        memcpy(point, fixed, d * sizeof *point);
        point[x] = r->axes[x].low + (r->axes[x].high - r->axes[x].low) * (i % GRID) / (GRID - 1);
        point[y] = r->axes[y].low + (r->axes[y].high - r->axes[y].low) * (i / GRID) / (GRID - 1);
    }
    for (int i = 0; i < n && status == VBS_OK; i++)
        values[i] = r->values[i * s->n_objectives];
    if (status == VBS_OK)
        status = vbs_search_predict(p->ctx, &space, r->points, values, n, at, GRID * GRID, mean,
                                    deviation);
    free(at);
    free(values);
    free(deviation);
    return status;
}

static void add_contour(struct picture *p, int x, int y, const double *mean)
{
    const struct vbs_study_results *r = p->r;
    enum study_objective objective = r->study->objectives[0];

    for (int i = 0; i < GRID * GRID; i++) {
        const struct vbs_search_parameter *a = &r->axes[x], *b = &r->axes[y];

        add_number(&p->data, 100 * (a->low + (a->high - a->low) * (i % GRID) / (GRID - 1)));
        add_number(&p->data, 100 * (b->low + (b->high - b->low) * (i / GRID) / (GRID - 1)));
        add_number(&p->data, shown(objective, mean[i]));
        vbs_text_addf(&p->data, "\n%s", i % GRID == GRID - 1 ? "\n" : "");
    }
    vbs_text_addf(&p->data, "\n");
    for (int wanted = 1; wanted >= 0; wanted--) {
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted) {
                add_number(&p->data, share_of(r, i, x));
                add_number(&p->data, share_of(r, i, y));
                add_number(&p->data, study_shown(objective, trial_of(r, i)));
                vbs_text_addf(&p->data, "\n");
            }
        end_block(p);
    }
}

static enum vbs_status draw_contour(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int sorted[VBS_STUDY_MAX_PARAMETERS], n = r->study->n_parameters;
    double *mean;
    enum vbs_status status;

    if (!r->importance)
        return fail_few(p, "complete trials");
    if (n < 2)
        return fail_few(p, "parameters");
    order(r, sorted);
    mean = calloc((size_t)GRID * GRID, sizeof *mean);
    if (!mean)
        return vbs_no_memory(p->ctx);
    status = predict(p, sorted[n - 1], sorted[n - 2], mean);
    if (status == VBS_OK) {
        set_text(p, "vbs_x", r->study->parameters[sorted[n - 1]].name);
        set_text(p, "vbs_y", r->study->parameters[sorted[n - 2]].name);
        add_contour(p, sorted[n - 1], sorted[n - 2], mean);
    }
    free(mean);
    return status;
}

/* ---- the front ---- */

/* The two values of a trial that the picture shows: the first two objectives, or the only one and
 * the accuracy. */
struct spot {
    double x, y;
};

static struct spot spot_of(const struct vbs_study *s, const struct vbs_trial_record *trial)
{
    return (struct spot){study_shown(s->objectives[0], trial),
                         s->n_objectives > 1 ? study_shown(s->objectives[1], trial)
                                             : accuracy_of(trial)};
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;

    return (left->x > right->x) - (left->x < right->x);
}

/* Finds the front of the two values among feasible trials, ascending by the first. */
static enum vbs_status find_front(struct picture *p, struct spot *front, int *n_front)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    int sign_x = study_objective_sign(s->objectives[0]);
    int sign_y = s->n_objectives > 1 ? study_objective_sign(s->objectives[1]) : 1;
    double *values = calloc(2 * (size_t)r->n_complete + 1, sizeof *values);
    bool *on_front = calloc((size_t)r->n_complete + 1, sizeof *on_front);
    int n = 0;
    enum vbs_status status = values && on_front ? VBS_OK : vbs_no_memory(p->ctx);

    for (int i = 0; i < r->n_complete && status == VBS_OK; i++)
        if (r->feasible[i]) {
            front[n] = spot_of(s, trial_of(r, i));
            values[2 * n] = sign_x * front[n].x;
            values[2 * n + 1] = sign_y * front[n].y;
            n++;
        }
    if (status == VBS_OK)
        status = vbs_pareto_front(p->ctx, 2, values, n, on_front);
    for (int i = 0; i < n && status == VBS_OK; i++)
        if (on_front[i])
            front[(*n_front)++] = front[i];
    free(values);
    free(on_front);
    if (status == VBS_OK)
        qsort(front, (size_t)*n_front, sizeof *front, compare_spots);
    return status;
}

static void add_spot(struct picture *p, struct spot spot)
{
    add_number(&p->data, spot.x);
    add_number(&p->data, spot.y);
    vbs_text_addf(&p->data, "\n");
}

static enum vbs_status draw_pareto(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    struct spot *front;
    int n_front = 0;
    char label[LABEL];
    enum vbs_status status;

    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    if (s->n_objectives == 1 && s->objectives[0] == STUDY_ACCURACY)
        return fail_few(p, "objectives");
    front = calloc((size_t)r->n_complete, sizeof *front);
    if (!front)
        return vbs_no_memory(p->ctx);
    status = find_front(p, front, &n_front);
    for (int wanted = 1; wanted >= 0 && status == VBS_OK; wanted--) {
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted)
                add_spot(p, spot_of(s, trial_of(r, i)));
        end_block(p);
    }
    for (int i = 0; i < n_front && status == VBS_OK; i++)
        add_spot(p, front[i]);
    free(front);
    end_block(p);
    if (r->control >= 0)
        add_spot(p, spot_of(s, &r->list->trials[r->control]));
    end_block(p);
    objective_label(s->objectives[0], label);
    set_text(p, "vbs_x", label);
    snprintf(label, sizeof label, "accuracy (%%)");
    if (s->n_objectives > 1)
        objective_label(s->objectives[1], label);
    set_text(p, "vbs_y", label);
    vbs_text_addf(&p->script, "vbs_first = %d\n", study_objective_sign(s->objectives[0]));
    return status;
}

/* ---- the whole ---- */

#define WORD(name, word) word,
static const char *const plot_words[] = {VBS_STUDY_PLOT_LIST(WORD)};
#undef WORD

enum vbs_status vbs_study_plot_find(struct vbs_ctx *ctx, const char *word,
                                    enum vbs_study_plot *plot)
{
    int found;

    VBS_TRY(vbs_parse_word(ctx, "picture", word, plot_words, VBS_N_STUDY_PLOTS, &found));
    *plot = (enum vbs_study_plot)found;
    return VBS_OK;
}

static void add_preamble(struct picture *p, enum vbs_study_plot plot,
                         const struct vbs_gnuplot_format *format)
{
    const struct vbs_study *s = p->r->study;
    char label[LABEL], note[200];

    vbs_text_addf(&p->script,
                  "vbs_format = '%s'\nvbs_data = '" VBS_GNUPLOT_DATA
                  "'\nvbs_output = '" VBS_GNUPLOT_OUTPUT "'\nvbs_kind = '%s'\n",
                  format->name, plot_words[plot]);
    set_text(p, "vbs_title", s->name);
    vbs_text_addf(&p->script,
                  "vbs_objectives = %d\narray vbs_objective[%d]\narray vbs_control[%d]\n",
                  s->n_objectives, s->n_objectives, s->n_objectives);
    for (int o = 0; o < s->n_objectives; o++) {
        char name[32];

        objective_label(s->objectives[o], label);
        set_element(p, "vbs_objective", o + 1, label);
        snprintf(name, sizeof name, "vbs_control[%d]", o + 1);
        set_number(p, name,
                   p->r->control < 0
                       ? (double)NAN
                       : study_shown(s->objectives[o], &p->r->list->trials[p->r->control]));
    }
    snprintf(note, sizeof note, "%d complete trials, sampler %s", p->r->n_complete,
             vbs_sampler_word(s->sampler));
    set_text(p, "vbs_note", note);
}

enum vbs_status vbs_study_draw(struct vbs_ctx *ctx, const struct vbs_study_results *results,
                               enum vbs_study_plot plot, const char *path)
{
    static enum vbs_status (*const draw[])(struct picture * p) = {
        draw_history, draw_importance, draw_parallel, draw_slice, draw_contour, draw_pareto};
    const struct vbs_gnuplot_format *format;
    struct picture p = {.ctx = ctx, .r = results};
    enum vbs_status status;
    char title[200];

    VBS_TRY(vbs_gnuplot_format(ctx, path, &format));
    add_preamble(&p, plot, format);
    status = draw[plot](&p);
    if (status == VBS_OK && results->n_complete == 0)
        status = fail_few(&p, "complete trials");
    snprintf(title, sizeof title, "study %.100s: %s", results->study->name, plot_words[plot]);
    if (status == VBS_OK)
        status = vbs_gnuplot_run(ctx, &p.script, "study", &p.data, title, format, path);
    vbs_text_clear(&p.script);
    vbs_text_clear(&p.data);
    return status;
}
