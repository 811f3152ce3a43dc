/* Mixed precision as a picture: this file writes data and labels, plots/mixed.gp draws them. */
#include "mixed/internal.h"

#include "base/fail.h"
#include "report/plot/plot.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL        80 /* characters of a title */
#define FLOATS_AWAY  3  /* decibels from the least error but none to the edge */
#define MOST_DECIBEL 200

/* A picture that is being made. Curves are those of 8 bits, of the bounds and of floats. */
struct mixed_picture {
    const struct vbs_mixed_figure *figure;
    const struct vbs_mixed_choice *choices;
    const int64_t *budgets;
    int n_choices, n_budgets, n_curves;
    struct vbs_gnuplot gnuplot;
    double rate_to, loss_from, loss_to;
};

static const char *name_of(const struct mixed_picture *p, int curve)
{
    if (curve == 0)
        return VBS_MIXED_SERIES_INT8;
    return curve == p->n_curves - 1 ? VBS_MIXED_SERIES_FLOATS : p->figure->words[curve - 1];
}

static bool shows(const struct mixed_picture *p, int curve)
{
    return vbs_plot_shows(p->gnuplot.options, name_of(p, curve));
}

static double rate_of(const struct mixed_picture *p, const struct vbs_mixed_choice *choice,
                      int budget)
{
    double time_us = choice->plans[budget].time_us;

    return time_us < HUGE_VAL ? 1e6 * (double)p->figure->request / time_us : (double)NAN;
}

static double curve_rate(const struct mixed_picture *p, int curve, int budget)
{
    int n = p->n_curves - 2, number = curve == 0 ? 0 : 1;

    if (curve > 0 && curve <= n)
        number = p->figure->chosen[budget * n + curve - 1];
    return number < 0 ? (double)NAN : rate_of(p, &p->choices[number], budget);
}

/* ---- the left panel ---- */

static void add_line(struct mixed_picture *p, int budget, double memory)
{
    struct vbs_text *data = &p->gnuplot.data;

    vbs_gnuplot_add_number(data, "", memory, "");
    for (int c = 0; c < p->n_curves; c++) {
        if (!shows(p, c))
            continue;
        vbs_gnuplot_add_number(data, ",", curve_rate(p, c, budget), "");
        p->rate_to = fmax(p->rate_to, curve_rate(p, c, budget));
    }
    vbs_text_add(data, "\n");
}

static void set_number(struct mixed_picture *p, const char *name, double value)
{
    vbs_text_add(&p->gnuplot.script, name);
    vbs_gnuplot_add_number(&p->gnuplot.script, " = ", value, "\n");
}

static void add_memory(struct mixed_picture *p)
{
    struct vbs_text *data = &p->gnuplot.data;
    int64_t first = p->budgets[0], last = p->budgets[p->n_budgets - 1];
    bool mebi = first >= 1 << 20;
    double unit = mebi ? 1 << 20 : 1024, margin = pow((double)last / (double)first, 0.03);

    margin = fmax(margin, 1.02);
    vbs_text_addf(data, "memory_%s", mebi ? "MiB" : "KiB");
    for (int c = 0; c < p->n_curves; c++)
        if (shows(p, c)) {
            vbs_text_add(data, ",");
            vbs_gnuplot_add_field(data, name_of(p, c));
        }
    vbs_text_add(data, "\n");
    for (int b = 0; b < p->n_budgets; b++)
        add_line(p, b, (double)p->budgets[b] / unit);
    add_line(p, p->n_budgets - 1, (double)last / unit * margin);
    vbs_text_add(data, "\n\n");
    vbs_text_addf(&p->gnuplot.script, "vbs_unit = '%s'\nvbs_last = %d\n", mebi ? "MiB" : "KiB",
                  p->n_budgets - 1);
    set_number(p, "vbs_memory_from", (double)first / unit / margin);
    set_number(p, "vbs_memory_to", (double)last / unit * margin);
}

/* ---- the right panel ---- */

/* A choice that fits. */
struct loss_point {
    double decibel, rate;
};

static int compare_points(const void *a, const void *b)
{
    const struct loss_point *x = a, *y = b;

    if (x->decibel != y->decibel)
        return x->decibel > y->decibel ? -1 : 1;
    return (x->rate < y->rate) - (x->rate > y->rate);
}

/* Lists the choices of a budget of which none with as small an error is faster, the least error
 * first; all in floats has none and is left out. */
static int list_front(const struct mixed_picture *p, int budget, struct loss_point *points)
{
    double fastest = 0;
    int n = 0, n_front = 0;

    for (int i = 0; i < p->n_choices; i++)
        if (p->choices[i].plans[budget].time_us < HUGE_VAL && p->choices[i].error > 0)
            points[n++] = (struct loss_point){vbs_quantize_decibels(p->choices[i].error),
                                              rate_of(p, &p->choices[i], budget)};
    qsort(points, (size_t)n, sizeof *points, compare_points);
    for (int i = 0; i < n; i++)
        if (points[i].rate > fastest) {
            fastest = points[i].rate;
            points[n_front++] = points[i];
        }
    return n_front;
}

static enum vbs_status add_losses(struct mixed_picture *p)
{
    struct vbs_text *data = &p->gnuplot.data;
    struct loss_point *points = malloc((size_t)p->n_choices * sizeof *points);

    if (!points)
        return vbs_no_memory(p->gnuplot.ctx);
    for (int b = 0; b < p->n_budgets; b++) {
        int n = list_front(p, b, points);

        vbs_text_add(data, "decibels,samples_per_s\n");
        for (int i = n - 1; i >= 0; i--) {
            vbs_gnuplot_add_number(data, "", points[i].decibel, "");
            vbs_gnuplot_add_number(data, ",", points[i].rate, "\n");
            p->rate_to = fmax(p->rate_to, points[i].rate);
            p->loss_from = fmin(p->loss_from, points[i].decibel);
            p->loss_to = fmax(p->loss_to, points[i].decibel);
        }
        /* A block without lines would not count. */
        vbs_text_add(data, n == 0 ? "NaN,NaN\n\n\n" : "\n\n");
    }
    free(points);
    return VBS_OK;
}

/* ---- the whole ---- */

static void add_title(struct mixed_picture *p)
{
    const struct vbs_mixed_figure *f = p->figure;
    const struct vbs_provenance *from = &f->profile->provenance;
    struct vbs_text title = {0}, note = {0};

    vbs_text_addf(&title, "%.40s, request %lld, planner %.40s", from->model, (long long)f->request,
                  f->planner);
    vbs_text_addf(&note, "%.*s", (int)strcspn(from->device, ","), from->device);
    if (from->threads > 0)
        vbs_text_addf(&note, ", %d thread%s", from->threads, from->threads == 1 ? "" : "s");
    vbs_text_add(&p->gnuplot.script, "vbs_title = ");
    vbs_gnuplot_add_string(&p->gnuplot.script, title.data ? title.data : "", 2 * LABEL);
    vbs_text_add(&p->gnuplot.script, "\nvbs_note = ");
    vbs_gnuplot_add_string(&p->gnuplot.script, note.data ? note.data : "", 2 * LABEL);
    vbs_text_add(&p->gnuplot.script, "\n");
    p->gnuplot.script.failed = p->gnuplot.script.failed || title.failed || note.failed;
    vbs_text_clear(&title);
    vbs_text_clear(&note);
}

static void add_names(struct mixed_picture *p)
{
    struct vbs_text *script = &p->gnuplot.script;
    char bytes[32];
    int n = 0;

    vbs_text_addf(script, "array vbs_name[%d]\narray vbs_budget[%d]\n", p->n_curves, p->n_budgets);
    for (int c = 0; c < p->n_curves; c++)
        if (shows(p, c)) {
            vbs_text_addf(script, "vbs_name[%d] = ", ++n);
            vbs_gnuplot_add_string(script, name_of(p, c), LABEL);
            vbs_text_add(script, "\n");
        }
    for (int b = 0; b < p->n_budgets; b++) {
        vbs_text_addf(script, "vbs_budget[%d] = ", b + 1);
        vbs_gnuplot_add_string(script, vbs_format_bytes(p->budgets[b], bytes, sizeof bytes), LABEL);
        vbs_text_add(script, "\n");
    }
    vbs_text_addf(script, "vbs_curves = %d\nvbs_budgets = %d\n", n, p->n_budgets);
}

static enum vbs_status check_series(const struct mixed_picture *p)
{
    const char **names = calloc((size_t)p->n_curves, sizeof *names);
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(p->gnuplot.ctx);
    for (int c = 0; c < p->n_curves; c++)
        names[c] = name_of(p, c);
    status = vbs_plot_check_series(p->gnuplot.ctx, p->gnuplot.options, names, p->n_curves);
    free(names);
    return status;
}

static enum vbs_status draw(struct mixed_picture *p)
{
    VBS_TRY(check_series(p));
    add_title(p);
    add_names(p);
    add_memory(p);
    VBS_TRY(add_losses(p));
    if (!(p->rate_to > 0))
        return vbs_fail(p->gnuplot.ctx, VBS_INFEASIBLE, "nothing to plot: nothing fits");
    set_number(p, "vbs_rate_to", 1.08 * p->rate_to);
    set_number(p, "vbs_loss_from", p->loss_from > p->loss_to ? 0 : p->loss_from - FLOATS_AWAY);
    set_number(p, "vbs_loss_to", p->loss_from > p->loss_to ? 1 : p->loss_to + FLOATS_AWAY);
    return vbs_gnuplot_draw(&p->gnuplot, "mixed",
                            "Mixed precision: throughput against memory and loss");
}

enum vbs_status vbs_mixed_plot(struct vbs_ctx *ctx, const struct vbs_mixed_figure *figure,
                               const struct vbs_plot_options *options, const char *path)
{
    struct mixed_picture p = {.figure = figure,
                              .n_curves = figure->n_bounds + 2,
                              .loss_from = MOST_DECIBEL,
                              .loss_to = -MOST_DECIBEL};
    enum vbs_status status = vbs_gnuplot_begin(ctx, options, path, &p.gnuplot);

    p.choices = vbs_mixed_choices(figure->mixed, &p.n_choices);
    p.budgets = vbs_mixed_budgets(figure->mixed, &p.n_budgets);
    if (status == VBS_OK)
        status = draw(&p);
    vbs_gnuplot_clear(&p.gnuplot);
    return status;
}
