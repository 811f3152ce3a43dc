/*
 * Accuracy against the share of channels that is removed, a curve for each group; one panel for
 * networks as they are pruned, and one for retrained ones. The script is a preamble that is
 * generated here and sets variables (vbs_*), then the template plots/sensitivity.gp, which draws.
 * The data has one block for each group, for gnuplot's "index": the share, and both accuracies, in
 * percent, NaN where there is none. The first line of a block is the whole network.
 */
#include "base/fail.h"
#include "report/plot/gnuplot.h"
#include "vbslab/report.h"

#include <math.h>
#include <stdlib.h>

#define NAME_LIMIT 28 /* characters of a name in the key */

/* What is drawn. */
struct curves {
    const struct vbs_prune_groups *groups;
    const struct vbs_sensitivity_point *points;
    int n_points;
    const struct vbs_sensitivity_point *whole;
    int n_curves;
};

static void add_point(struct vbs_text *data, double share, const struct vbs_sensitivity_point *p)
{
    vbs_gnuplot_add_number(data, "", 100 * share, " ");
    vbs_gnuplot_add_number(data, "", 100 * p->accuracy, " ");
    vbs_gnuplot_add_number(data, "", p->retrained ? 100 * p->retrained_accuracy : NAN, "\n");
}

/* Appends the points of a group, from the most channels to the fewest; gives their number. */
static int add_group(struct vbs_text *data, const struct curves *c, int group)
{
    int64_t below = INT64_MAX;
    int n = 0;

    for (;;) {
        const struct vbs_sensitivity_point *next = NULL;

        for (int i = 0; i < c->n_points; i++)
            if (c->points[i].group == group && c->points[i].keep < below &&
                (!next || c->points[i].keep > next->keep))
                next = &c->points[i];
        if (!next)
            break;
        if (n++ == 0)
            add_point(data, 0, c->whole);
        add_point(data, vbs_sensitivity_share(&c->groups->groups[group], next->keep), next);
        below = next->keep;
    }
    if (n > 0)
        vbs_text_add(data, "\n\n");
    return n;
}

/* Appends the curves, and their names to the script. */
static void add_curves(struct vbs_text *script, struct vbs_text *data, struct curves *c)
{
    for (int g = 0; g < c->groups->n_groups; g++) {
        if (add_group(data, c, g) == 0)
            continue;
        vbs_text_addf(script, "vbs_name[%d] = ", ++c->n_curves);
        vbs_gnuplot_add_string(script, c->groups->groups[g].name, NAME_LIMIT);
        vbs_text_add(script, "\n");
    }
}

static void add_preamble(struct vbs_text *script, const struct curves *c, const char *name,
                         double fall, const struct vbs_gnuplot_format *format)
{
    vbs_text_addf(script, "vbs_format = '%s'\nvbs_data = '%s'\nvbs_output = '%s'\n", format->name,
                  VBS_GNUPLOT_DATA, VBS_GNUPLOT_OUTPUT);
    vbs_text_addf(script, "vbs_panels = %d\narray vbs_name[%d]\narray vbs_whole[2]\nvbs_title = ",
                  c->whole->retrained ? 2 : 1, c->groups->n_groups + 1);
    vbs_gnuplot_add_string(script, name, 3 * NAME_LIMIT);
    vbs_gnuplot_add_number(script, "\nvbs_whole[1] = ", 100 * c->whole->accuracy, "\n");
    vbs_gnuplot_add_number(script, "vbs_whole[2] = ",
                           c->whole->retrained ? 100 * c->whole->retrained_accuracy : NAN, "\n");
    vbs_gnuplot_add_number(script, "vbs_fall = ", 100 * fall, "\n");
}

enum vbs_status vbs_sensitivity_plot(struct vbs_ctx *ctx, const char *name,
                                     const struct vbs_prune_groups *groups,
                                     const struct vbs_sensitivity_point *points, int n_points,
                                     double fall, const char *path)
{
    struct curves c = {.groups = groups, .points = points, .n_points = n_points};
    const struct vbs_gnuplot_format *format;
    struct vbs_text script = {0}, data = {0};
    enum vbs_status status;

    VBS_TRY(vbs_gnuplot_format(ctx, path, &format));
    for (int i = 0; i < n_points; i++)
        if (points[i].group < 0)
            c.whole = &points[i];
    if (!c.whole)
        return vbs_fail(ctx, VBS_USAGE, "there is no point of the whole network");
    add_preamble(&script, &c, name, fall, format);
    add_curves(&script, &data, &c);
    vbs_text_addf(&script, "vbs_curves = %d\n", c.n_curves);
    if (c.n_curves == 0)
        status = vbs_fail(ctx, VBS_USAGE, "no group has a point to draw");
    else
        status = script.failed || data.failed
                     ? vbs_no_memory(ctx)
                     : vbs_gnuplot_run(ctx, &script, "sensitivity", &data, name, format, path);
    vbs_text_clear(&script);
    vbs_text_clear(&data);
    return status;
}
