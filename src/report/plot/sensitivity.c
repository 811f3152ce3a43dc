/*
 * Accuracy against the share of channels that is removed, a curve for each group; one panel for
 * networks as they are pruned, and one for retrained ones. The template is plots/sensitivity.gp.
 * The data has one block for each group: the share, and both accuracies, in percent, NaN where
 * there is none, and the group. The first line of a block is the whole network.
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
    struct vbs_gnuplot picture;
};

static void add_point(struct curves *c, int group, double share,
                      const struct vbs_sensitivity_point *p)
{
    struct vbs_text *data = &c->picture.data;

    vbs_gnuplot_add_number(data, "", 100 * share, ",");
    vbs_gnuplot_add_number(data, "", 100 * p->accuracy, ",");
    vbs_gnuplot_add_number(data, "", p->retrained ? 100 * p->retrained_accuracy : NAN, ",");
    vbs_gnuplot_add_field(data, c->groups->groups[group].name);
    vbs_text_add(data, "\n");
}

/* Appends the points of a group, from the most channels to the fewest; gives their number. */
static int add_group(struct curves *c, int group)
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
        if (n++ == 0) {
            vbs_text_add(&c->picture.data, "removed_percent,accuracy,retrained,group\n");
            add_point(c, group, 0, c->whole);
        }
        add_point(c, group, vbs_sensitivity_share(&c->groups->groups[group], next->keep), next);
        below = next->keep;
    }
    if (n > 0)
        vbs_text_add(&c->picture.data, "\n\n");
    return n;
}

/* Appends the curves, and their names to the script. */
static void add_curves(struct curves *c)
{
    struct vbs_text *script = &c->picture.script;

    for (int g = 0; g < c->groups->n_groups; g++) {
        if (!vbs_plot_shows(c->picture.options, c->groups->groups[g].name) || add_group(c, g) == 0)
            continue;
        vbs_text_addf(script, "vbs_name[%d] = ", ++c->n_curves);
        vbs_gnuplot_add_string(script, c->groups->groups[g].name, NAME_LIMIT);
        vbs_text_add(script, "\n");
    }
    vbs_text_addf(script, "vbs_curves = %d\n", c->n_curves);
}

static void add_preamble(struct curves *c, const char *name, double fall)
{
    struct vbs_text *script = &c->picture.script;

    vbs_text_addf(script, "vbs_panels = %d\narray vbs_name[%d]\narray vbs_whole[2]\nvbs_title = ",
                  c->whole->retrained ? 2 : 1, c->groups->n_groups + 1);
    vbs_gnuplot_add_string(script, name, 3 * NAME_LIMIT);
    vbs_gnuplot_add_number(script, "\nvbs_whole[1] = ", 100 * c->whole->accuracy, "\n");
    vbs_gnuplot_add_number(script, "vbs_whole[2] = ",
                           c->whole->retrained ? 100 * c->whole->retrained_accuracy : NAN, "\n");
    vbs_gnuplot_add_number(script, "vbs_fall = ", 100 * fall, "\n");
}

static enum vbs_status check_series(const struct curves *c)
{
    const char **names = calloc((size_t)c->groups->n_groups + 1, sizeof *names);
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(c->picture.ctx);
    for (int g = 0; g < c->groups->n_groups; g++)
        names[g] = c->groups->groups[g].name;
    status = vbs_plot_check_series(c->picture.ctx, c->picture.options, names, c->groups->n_groups);
    free(names);
    return status;
}

enum vbs_status vbs_sensitivity_plot(struct vbs_ctx *ctx, const char *name,
                                     const struct vbs_prune_groups *groups,
                                     const struct vbs_sensitivity_point *points, int n_points,
                                     double fall, const struct vbs_plot_options *options,
                                     const char *path)
{
    struct curves c = {.groups = groups, .points = points, .n_points = n_points};
    enum vbs_status status;

    VBS_TRY(vbs_gnuplot_begin(ctx, options, path, &c.picture));
    VBS_TRY(check_series(&c));
    for (int i = 0; i < n_points; i++)
        if (points[i].group < 0)
            c.whole = &points[i];
    if (!c.whole)
        return vbs_fail(ctx, VBS_USAGE, "there is no point of the whole network");
    add_preamble(&c, name, fall);
    add_curves(&c);
    status = c.n_curves == 0 ? vbs_fail(ctx, VBS_USAGE, "no group has a point to draw")
                             : vbs_gnuplot_draw(&c.picture, "sensitivity", name);
    vbs_gnuplot_clear(&c.picture);
    return status;
}
