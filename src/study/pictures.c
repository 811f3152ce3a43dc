/* Pictures of a study, by gnuplot: this file writes data and labels, plots/study.gp draws them.
 * Shares and accuracies are shown in percent. Blocks of data begin with the names of their columns.
 */
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
    struct vbs_gnuplot gnuplot;
};

/* The series of the picture of the front. */
enum pareto_series { FEASIBLE, INFEASIBLE, FRONT, CONTROL, N_PARETO };

static const char *const PARETO_SERIES[] = {"feasible", "infeasible", "front", "control"};

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
    vbs_gnuplot_add_number(text, ",", value, "");
}

static void set_number(struct picture *p, const char *name, double value)
{
    vbs_text_add(&p->gnuplot.script, name);
    vbs_gnuplot_add_number(&p->gnuplot.script, " = ", value, "\n");
}

static void set_text(struct picture *p, const char *name, const char *text)
{
    vbs_text_addf(&p->gnuplot.script, "%s = ", name);
    vbs_gnuplot_add_string(&p->gnuplot.script, text, 2 * LABEL);
    vbs_text_addf(&p->gnuplot.script, "\n");
}

/* Sets element number i of an array of texts. */
static void set_element(struct picture *p, const char *array, int i, const char *text)
{
    vbs_text_addf(&p->gnuplot.script, "%s[%d] = ", array, i);
    vbs_gnuplot_add_string(&p->gnuplot.script, text, LABEL);
    vbs_text_addf(&p->gnuplot.script, "\n");
}

static bool shows(const struct picture *p, const char *series)
{
    return vbs_plot_shows(p->gnuplot.options, series);
}

static void add_field(struct picture *p, const char *name)
{
    vbs_text_add(&p->gnuplot.data, ",");
    vbs_gnuplot_add_field(&p->gnuplot.data, name);
}

static enum vbs_status check_series(const struct picture *p, const char *const *names, int n)
{
    return vbs_plot_check_series(p->ctx, p->gnuplot.options, names, n);
}

/* Finds the parameters that are drawn, of which there are at most most; the others of those that
 * are chosen are left out. */
static enum vbs_status choose_parameters(struct picture *p, int most, int *chosen, int *n_chosen)
{
    const struct vbs_study *s = p->r->study;
    const char *names[VBS_STUDY_MAX_PARAMETERS];

    for (int i = 0; i < s->n_parameters; i++)
        names[i] = s->parameters[i].name;
    VBS_TRY(check_series(p, names, s->n_parameters));
    *n_chosen = 0;
    for (int i = 0; i < s->n_parameters && *n_chosen < most; i++)
        if (shows(p, names[i]))
            chosen[(*n_chosen)++] = i;
    return VBS_OK;
}

static void end_block(struct picture *p)
{
    /* A block without lines would not count. */
    vbs_text_addf(&p->gnuplot.data, "NaN,NaN,NaN\n\n\n");
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
        vbs_text_add(&p->gnuplot.data, "trial");
        add_field(p, study_objective_word(objective));
        vbs_text_addf(&p->gnuplot.data, ",%s\n", PARETO_SERIES[wanted ? FEASIBLE : INFEASIBLE]);
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted) {
                vbs_text_addf(&p->gnuplot.data, "%d", trial_of(r, i)->number);
                add_number(&p->gnuplot.data, study_shown(objective, trial_of(r, i)));
                vbs_text_addf(&p->gnuplot.data, "\n");
            }
        end_block(p);
    }
    vbs_text_add(&p->gnuplot.data, "trial,best_so_far\n");
    for (int i = 0; i < r->n_complete; i++) {
        double value = study_shown(objective, trial_of(r, i));

        if (r->feasible[i] && (isnan(best) || (rises(r, o) ? value > best : value < best)))
            best = value;
        vbs_text_addf(&p->gnuplot.data, "%d", trial_of(r, i)->number);
        add_number(&p->gnuplot.data, best);
        vbs_text_addf(&p->gnuplot.data, "\n");
    }
    end_block(p);
}

static enum vbs_status draw_history(struct picture *p)
{
    const struct vbs_study *s = p->r->study;
    const char *names[STUDY_MAX_OBJECTIVES];
    int n = 0;

    for (int o = 0; o < s->n_objectives; o++)
        names[n++] = study_objective_word(s->objectives[o]);
    VBS_TRY(check_series(p, names, n));
    vbs_text_addf(&p->gnuplot.script, "vbs_histories = 0\narray vbs_which[%d]\n", n);
    for (int o = 0; o < s->n_objectives; o++)
        if (shows(p, names[o])) {
            vbs_text_addf(&p->gnuplot.script,
                          "vbs_histories = vbs_histories + 1\nvbs_which[vbs_histories] = %d\n",
                          o + 1);
            add_history(p, o);
        }
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

/* Keeps of n parameters those that are drawn, at most MOST_LINES from the end; gives their number.
 */
static int keep_shown(const struct picture *p, int *sorted, int n)
{
    int n_kept = 0, first;

    for (int i = 0; i < n; i++)
        if (shows(p, p->r->study->parameters[sorted[i]].name))
            sorted[n_kept++] = sorted[i];
    first = n_kept > MOST_LINES ? n_kept - MOST_LINES : 0;
    memmove(sorted, sorted + first, (size_t)(n_kept - first) * sizeof *sorted);
    return n_kept - first;
}

static enum vbs_status draw_importance(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int sorted[VBS_STUDY_MAX_PARAMETERS], n;

    VBS_TRY(choose_parameters(p, MOST_LINES, sorted, &n));
    if (!r->importance)
        return fail_few(p, "complete trials");
    order(r, sorted);
    n = keep_shown(p, sorted, r->study->n_parameters);
    vbs_text_addf(&p->gnuplot.script, "vbs_n = %d\narray vbs_name[%d]\n", n, n);
    vbs_text_add(&p->gnuplot.data, "place,importance_percent,parameter\n");
    for (int i = 0; i < n; i++) {
        const char *name = r->study->parameters[sorted[i]].name;

        set_element(p, "vbs_name", i + 1, name);
        vbs_text_addf(&p->gnuplot.data, "%d", i + 1);
        add_number(&p->gnuplot.data, 100 * r->importance[sorted[i]]);
        add_field(p, name);
        vbs_text_add(&p->gnuplot.data, "\n");
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
             : percent || fabs(value) >= 10    ? 1
                                               : 3,
             value, percent ? "%" : "");
}

/* An axis that is drawn. */
struct shown_axis {
    int axis; /* as on_axis counts them */
    double low, high;
};

static void name_axis(const struct picture *p, int axis, char label[LABEL])
{
    const struct vbs_study *s = p->r->study;

    if (axis < s->n_parameters)
        snprintf(label, LABEL, "%s", s->parameters[axis].name);
    else if (axis < s->n_parameters + s->n_objectives)
        objective_label(s->objectives[axis - s->n_parameters], label);
    else
        snprintf(label, LABEL, "accuracy (%%)");
}

/* Sets the texts of the axis with this number in the picture. */
static void set_axis(struct picture *p, int number, const struct shown_axis *shown)
{
    bool percent = shown->axis < p->r->study->n_parameters;
    char label[LABEL], text[32];

    name_axis(p, shown->axis, label);
    set_element(p, "vbs_name", number, label);
    axis_text(percent, shown->low, text, sizeof text);
    set_element(p, "vbs_low", number, text);
    axis_text(percent, shown->high, text, sizeof text);
    set_element(p, "vbs_high", number, text);
}

/* Adds a line of trial i through all axes; its values are shares of the axes. */
static void add_line(struct picture *p, int i, const struct shown_axis *axes, int n_axes)
{
    const struct vbs_study_results *r = p->r;

    for (int a = 0; a < n_axes; a++) {
        double extent = axes[a].high - axes[a].low, value = on_axis(r, i, axes[a].axis);
        char label[LABEL];

        vbs_text_addf(&p->gnuplot.data, "%d", a + 1);
        add_number(&p->gnuplot.data, extent > 0 ? (value - axes[a].low) / extent : 0.5);
        add_number(&p->gnuplot.data, on_axis(r, i, r->study->n_parameters));
        vbs_text_addf(&p->gnuplot.data, ",%d", trial_of(r, i)->number);
        name_axis(p, axes[a].axis, label);
        add_field(p, label);
        add_number(&p->gnuplot.data, value);
        vbs_text_add(&p->gnuplot.data, "\n");
    }
    vbs_text_add(&p->gnuplot.data, "\n");
}

static void find_extent(const struct vbs_study_results *r, struct shown_axis *shown)
{
    shown->low = HUGE_VAL;
    shown->high = -HUGE_VAL;
    for (int i = 0; i < r->n_complete; i++) {
        shown->low = fmin(shown->low, on_axis(r, i, shown->axis));
        shown->high = fmax(shown->high, on_axis(r, i, shown->axis));
    }
}

/* The objectives, and the accuracy, are always drawn. */
static enum vbs_status draw_parallel(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    struct shown_axis axes[VBS_STUDY_MAX_PARAMETERS + 4], first = {.axis = s->n_parameters};
    int chosen[VBS_STUDY_MAX_PARAMETERS], n = 0, n_all = s->n_parameters + s->n_objectives;

    VBS_TRY(choose_parameters(p, VBS_STUDY_MAX_PARAMETERS, chosen, &n));
    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    for (int a = 0; a < n; a++)
        axes[a].axis = chosen[a];
    for (int a = s->n_parameters; a < n_all + !has_accuracy(s); a++)
        axes[n++].axis = a;
    vbs_text_addf(&p->gnuplot.script,
                  "vbs_n = %d\narray vbs_name[%d]\narray vbs_low[%d]\narray vbs_high[%d]\n", n, n,
                  n, n);
    for (int a = 0; a < n; a++) {
        find_extent(r, &axes[a]);
        set_axis(p, a + 1, &axes[a]);
    }
    find_extent(r, &first);
    set_number(p, "vbs_from", first.low);
    set_number(p, "vbs_to", first.high);
    for (int wanted = 0; wanted < 2; wanted++) {
        vbs_text_add(&p->gnuplot.data, "axis,height,objective,trial,name,value\n");
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted)
                add_line(p, i, axes, n);
        end_block(p);
    }
    return VBS_OK;
}

/* ---- slices ---- */

static enum vbs_status draw_slice(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int chosen[VBS_STUDY_MAX_PARAMETERS], n;

    VBS_TRY(choose_parameters(p, MOST_LINES, chosen, &n));
    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    vbs_text_addf(&p->gnuplot.script, "vbs_n = %d\narray vbs_name[%d]\n", n, n);
    vbs_text_add(&p->gnuplot.data, "trial,feasible");
    for (int o = 0; o < r->study->n_objectives; o++)
        add_field(p, study_objective_word(r->study->objectives[o]));
    for (int k = 0; k < n; k++) {
        set_element(p, "vbs_name", k + 1, r->study->parameters[chosen[k]].name);
        add_field(p, r->study->parameters[chosen[k]].name);
    }
    vbs_text_add(&p->gnuplot.data, "\n");
    set_number(p, "vbs_last", trial_of(r, r->n_complete - 1)->number);
    for (int i = 0; i < r->n_complete; i++) {
        vbs_text_addf(&p->gnuplot.data, "%d,%d", trial_of(r, i)->number, r->feasible[i]);
        for (int o = 0; o < r->study->n_objectives; o++)
            add_number(&p->gnuplot.data, study_shown(r->study->objectives[o], trial_of(r, i)));
        for (int k = 0; k < n; k++)
            add_number(&p->gnuplot.data, share_of(r, i, chosen[k]));
        vbs_text_add(&p->gnuplot.data, "\n");
    }
    vbs_text_add(&p->gnuplot.data, "\n\n");
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

/* Gives coordinate number i of the GRID from one end of an axis to the other. The far end is exact:
 * a sum that is rounded may lie beyond it, outside the search space. */
static double grid_value(const struct vbs_search_parameter *axis, int i)
{
    return i == GRID - 1 ? axis->high : axis->low + (axis->high - axis->low) * i / (GRID - 1);
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
        point[x] = grid_value(&r->axes[x], i % GRID);
        point[y] = grid_value(&r->axes[y], i / GRID);
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

static void add_contour_header(struct picture *p, int x, int y, const char *what)
{
    vbs_gnuplot_add_field(&p->gnuplot.data, p->r->study->parameters[x].name);
    add_field(p, p->r->study->parameters[y].name);
    add_field(p, study_objective_word(p->r->study->objectives[0]));
    vbs_text_addf(&p->gnuplot.data, ",%s\n", what);
}

static void add_contour(struct picture *p, int x, int y, const double *mean)
{
    const struct vbs_study_results *r = p->r;
    enum study_objective objective = r->study->objectives[0];

    add_contour_header(p, x, y, "expected");
    for (int i = 0; i < GRID * GRID; i++) {
        vbs_gnuplot_add_number(&p->gnuplot.data, "", 100 * grid_value(&r->axes[x], i % GRID), "");
        add_number(&p->gnuplot.data, 100 * grid_value(&r->axes[y], i / GRID));
        add_number(&p->gnuplot.data, shown(objective, mean[i]));
        vbs_text_addf(&p->gnuplot.data, "\n%s", i % GRID == GRID - 1 ? "\n" : "");
    }
    vbs_text_addf(&p->gnuplot.data, "\n");
    for (int wanted = 1; wanted >= 0; wanted--) {
        add_contour_header(p, x, y, PARETO_SERIES[wanted ? FEASIBLE : INFEASIBLE]);
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted) {
                vbs_gnuplot_add_number(&p->gnuplot.data, "", share_of(r, i, x), "");
                add_number(&p->gnuplot.data, share_of(r, i, y));
                add_number(&p->gnuplot.data, study_shown(objective, trial_of(r, i)));
                vbs_text_addf(&p->gnuplot.data, "\n");
            }
        end_block(p);
    }
}

/* Finds the two parameters of a contour: those of the series, the first on the axis of x, or the
 * two most important ones. */
static enum vbs_status choose_axes(struct picture *p, int axes[2])
{
    const struct vbs_study *s = p->r->study;
    int sorted[VBS_STUDY_MAX_PARAMETERS], n = s->n_parameters;

    VBS_TRY(choose_parameters(p, n, sorted, &n));
    if (n < 2 && p->gnuplot.options->n_series == 0)
        return fail_few(p, "parameters");
    if (p->gnuplot.options->n_series > 0 && n != 2)
        return vbs_fail(p->ctx, VBS_USAGE, "a contour has two series, got %d", n);
    if (p->gnuplot.options->n_series > 0) {
        bool first = strcmp(p->gnuplot.options->series[0], s->parameters[sorted[0]].name) == 0;

        axes[0] = sorted[first ? 0 : 1];
        axes[1] = sorted[first ? 1 : 0];
        return VBS_OK;
    }
    order(p->r, sorted);
    axes[0] = sorted[n - 1];
    axes[1] = sorted[n - 2];
    return VBS_OK;
}

static enum vbs_status draw_contour(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    int axes[2];
    double *mean;
    enum vbs_status status;

    if (!r->importance)
        return fail_few(p, "complete trials");
    VBS_TRY(choose_axes(p, axes));
    mean = calloc((size_t)GRID * GRID, sizeof *mean);
    if (!mean)
        return vbs_no_memory(p->ctx);
    status = predict(p, axes[0], axes[1], mean);
    if (status == VBS_OK) {
        set_text(p, "vbs_x", r->study->parameters[axes[0]].name);
        set_text(p, "vbs_y", r->study->parameters[axes[1]].name);
        add_contour(p, axes[0], axes[1], mean);
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
    vbs_gnuplot_add_number(&p->gnuplot.data, "", spot.x, "");
    add_number(&p->gnuplot.data, spot.y);
    vbs_text_add(&p->gnuplot.data, "\n");
}

static void add_pareto_header(struct picture *p, enum pareto_series series)
{
    const struct vbs_study *s = p->r->study;

    vbs_gnuplot_add_field(&p->gnuplot.data, study_objective_word(s->objectives[0]));
    add_field(p, s->n_objectives > 1 ? study_objective_word(s->objectives[1]) : "accuracy");
    vbs_text_addf(&p->gnuplot.data, ",%s\n", PARETO_SERIES[series]);
    vbs_text_addf(&p->gnuplot.script, "vbs_shows_%s = %d\n", PARETO_SERIES[series],
                  shows(p, PARETO_SERIES[series]));
}

static enum vbs_status draw_pareto(struct picture *p)
{
    const struct vbs_study_results *r = p->r;
    const struct vbs_study *s = r->study;
    struct spot *front;
    int n_front = 0;
    char label[LABEL];
    enum vbs_status status;

    VBS_TRY(check_series(p, PARETO_SERIES, N_PARETO));
    if (r->n_complete == 0)
        return fail_few(p, "complete trials");
    if (s->n_objectives == 1 && s->objectives[0] == STUDY_ACCURACY)
        return fail_few(p, "objectives");
    front = calloc((size_t)r->n_complete, sizeof *front);
    if (!front)
        return vbs_no_memory(p->ctx);
    status = find_front(p, front, &n_front);
    for (int wanted = 1; wanted >= 0 && status == VBS_OK; wanted--) {
        add_pareto_header(p, wanted ? FEASIBLE : INFEASIBLE);
        for (int i = 0; i < r->n_complete; i++)
            if (r->feasible[i] == wanted)
                add_spot(p, spot_of(s, trial_of(r, i)));
        end_block(p);
    }
    add_pareto_header(p, FRONT);
    for (int i = 0; i < n_front && status == VBS_OK; i++)
        add_spot(p, front[i]);
    free(front);
    end_block(p);
    add_pareto_header(p, CONTROL);
    if (r->control >= 0)
        add_spot(p, spot_of(s, &r->list->trials[r->control]));
    end_block(p);
    objective_label(s->objectives[0], label);
    set_text(p, "vbs_x", label);
    snprintf(label, sizeof label, "accuracy (%%)");
    if (s->n_objectives > 1)
        objective_label(s->objectives[1], label);
    set_text(p, "vbs_y", label);
    vbs_text_addf(&p->gnuplot.script, "vbs_first = %d\n", study_objective_sign(s->objectives[0]));
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

static void add_preamble(struct picture *p, enum vbs_study_plot plot)
{
    const struct vbs_study *s = p->r->study;
    char label[LABEL], note[200];

    vbs_text_addf(&p->gnuplot.script, "vbs_kind = '%s'\n", plot_words[plot]);
    set_text(p, "vbs_title", s->name);
    vbs_text_addf(&p->gnuplot.script,
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
                               enum vbs_study_plot plot, const struct vbs_plot_options *options,
                               const char *path)
{
    static enum vbs_status (*const draw[])(struct picture * p) = {
        draw_history, draw_importance, draw_parallel, draw_slice, draw_contour, draw_pareto};
    struct picture p = {.ctx = ctx, .r = results};
    enum vbs_status status;
    char title[200];

    VBS_TRY(vbs_gnuplot_begin(ctx, options, path, &p.gnuplot));
    add_preamble(&p, plot);
    status = draw[plot](&p);
    if (status == VBS_OK && results->n_complete == 0)
        status = fail_few(&p, "complete trials");
    snprintf(title, sizeof title, "study %.100s: %s", results->study->name, plot_words[plot]);
    if (status == VBS_OK)
        status = vbs_gnuplot_draw(&p.gnuplot, "study", title);
    vbs_gnuplot_clear(&p.gnuplot);
    return status;
}
