/* Ranges of pruning, from points, and their text for a study. */
#include "vbslab/sensitivity.h"

#include "base/fail.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>

static double accuracy_of(const struct vbs_sensitivity_point *point)
{
    return point->diverged ? -1 : point->retrained ? point->retrained_accuracy : point->accuracy;
}

/* Gives the point of a group that keeps the most channels below `below`; null: none. */
static const struct vbs_sensitivity_point *next_point(const struct vbs_sensitivity_point *points,
                                                      int n_points, int group, int64_t below)
{
    const struct vbs_sensitivity_point *next = NULL;

    for (int i = 0; i < n_points; i++)
        if (points[i].group == group && points[i].keep < below &&
            (!next || points[i].keep > next->keep))
            next = &points[i];
    return next;
}

/* Gives the fewest channels that were measured before the accuracy fell below `least`. */
static int64_t find_safe(const struct vbs_prune_group *group,
                         const struct vbs_sensitivity_point *points, int n_points, int number,
                         double least)
{
    int64_t keep = group->n_channels;
    const struct vbs_sensitivity_point *p;

    /* Accuracies are counts over counts: equal ones must not differ by rounding. */
    while ((p = next_point(points, n_points, number, keep)) && accuracy_of(p) >= least - 1e-12)
        keep = p->keep;
    return keep;
}

/* Sets the widths that end a block: from the most filters below all, or all where they end a block
 * themselves, to the fewest that are not below `least` filters. */
static void set_widths(const struct vbs_prune_group *group, int64_t least, int64_t block,
                       struct vbs_sensitivity_range *range)
{
    int64_t filters = group->n_channels * group->unit;
    /* A width is a number of whole channels, and of whole blocks. */
    int64_t whole = block;
    int64_t most, fewest;

    while (whole % group->unit != 0)
        whole += block;
    most = filters / whole * whole;
    fewest = (least + whole - 1) / whole * whole;
    if (filters <= whole) {
        range->why = "a block holds all its filters";
        return;
    }
    if (fewest >= filters) {
        range->why = "the accuracy falls before a block is gone";
        return;
    }
    range->n_widths = (int)((most - fewest) / whole) + 1;
    range->low = (double)(filters - most) / (double)filters;
    range->high = (double)(filters - fewest) / (double)filters;
    range->step = (double)whole / (double)filters;
    if (range->n_widths == 1) { /* a parameter needs a choice: all filters are the other one */
        range->n_widths = 2;
        range->low = 0;
        range->step = range->high;
    }
}

enum vbs_status vbs_sensitivity_propose(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                        const struct vbs_sensitivity_point *points, int n_points,
                                        double fall, int64_t block,
                                        struct vbs_sensitivity_range *ranges, int *n_ranges)
{
    const struct vbs_sensitivity_point *whole = next_point(points, n_points, -1, INT64_MAX);
    int n = 0;

    if (!whole)
        return vbs_fail(ctx, VBS_USAGE, "there is no point of the whole network");
    if (block < 1 || !(fall >= 0 && fall <= 1))
        return vbs_fail(ctx, VBS_USAGE, "blocks of %" PRId64 " filters and a fall of %g", block,
                        fall);
    for (int g = 0; g < groups->n_groups; g++) {
        const struct vbs_prune_group *group = &groups->groups[g];
        int64_t keep;

        if (!next_point(points, n_points, g, INT64_MAX))
            continue;
        keep = find_safe(group, points, n_points, g, accuracy_of(whole) - fall);
        ranges[n] =
            (struct vbs_sensitivity_range){.group = g, .safe = vbs_sensitivity_share(group, keep)};
        set_widths(group, keep * group->unit, block, &ranges[n]);
        n++;
    }
    *n_ranges = n;
    return VBS_OK;
}

/* ---- as text ---- */

/* Appends a text as a string of TOML. */
static void add_string(struct vbs_text *text, const char *string)
{
    vbs_text_add(text, "\"");
    for (const char *at = string; *at; at++) {
        if (*at == '"' || *at == '\\')
            vbs_text_addf(text, "\\%c", *at);
        else if ((unsigned char)*at < 0x20 || *at == 0x7f)
            vbs_text_addf(text, "\\u%04x", (unsigned)(unsigned char)*at);
        else
            vbs_text_addf(text, "%c", *at);
    }
    vbs_text_add(text, "\"");
}

static int64_t filters_of(const struct vbs_prune_groups *groups,
                          const struct vbs_sensitivity_range *range)
{
    return groups->groups[range->group].n_channels * groups->groups[range->group].unit;
}

static bool is_alike(const struct vbs_prune_groups *groups, const struct vbs_sensitivity_range *a,
                     const struct vbs_sensitivity_range *b)
{
    return a->n_widths == b->n_widths && a->n_widths > 0 &&
           filters_of(groups, a) == filters_of(groups, b) && a->low == b->low &&
           a->high == b->high && a->step == b->step;
}

/* Gives a number that TOML reads as a real one. */
static void add_number(struct vbs_text *text, const char *key, double value)
{
    char number[VBS_DOUBLE_SIZE];

    vbs_format_double(value, number);
    vbs_text_addf(text, "%s = %s%s\n", key, number, value == floor(value) ? ".0" : "");
}

/* Appends the parameter of range number i and of all later ones that are alike. */
static void add_parameter(struct vbs_text *text, const struct vbs_prune_groups *groups,
                          const struct vbs_sensitivity_range *ranges, int n_ranges, int i)
{
    const struct vbs_sensitivity_range *range = &ranges[i];
    int n = 0;

    vbs_text_addf(text, "%s[[parameter]] # of %" PRId64 " filters, %g to %g are removed\n",
                  text->length > 0 ? "\n" : "", filters_of(groups, range),
                  round(range->low * (double)filters_of(groups, range)),
                  round(range->high * (double)filters_of(groups, range)));
    vbs_text_add(text, "groups = [");
    for (int k = i; k < n_ranges; k++)
        if (is_alike(groups, range, &ranges[k])) {
            vbs_text_add(text, n++ > 0 ? ", " : "");
            add_string(text, groups->groups[ranges[k].group].name);
        }
    vbs_text_add(text, "]\n");
    add_number(text, "low", range->low);
    add_number(text, "high", range->high);
    add_number(text, "step", range->step);
}

enum vbs_status vbs_sensitivity_toml(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                     const struct vbs_sensitivity_range *ranges, int n_ranges,
                                     char **text)
{
    struct vbs_text made = {0};

    vbs_text_add(&made, "");
    for (int i = 0; i < n_ranges; i++) {
        bool first = ranges[i].n_widths > 0;

        for (int k = 0; k < i; k++)
            first = first && !is_alike(groups, &ranges[i], &ranges[k]);
        if (first)
            add_parameter(&made, groups, ranges, n_ranges, i);
    }
    if (made.failed) {
        vbs_text_clear(&made);
        return vbs_no_memory(ctx);
    }
    *text = made.data;
    return VBS_OK;
}
