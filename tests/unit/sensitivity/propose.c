/* Ranges of pruning: the largest share before the accuracy falls, rounded to whole blocks of
 * filters; their text; what is refused. */
#include "vbslab/sensitivity.h"

#include "base/ctx.h"
#include "support/tap.h"

#include <stdlib.h>

static const struct vbs_prune_group GROUPS[] = {
    {.name = "wide", .n_channels = 64, .unit = 1},
    {.name = "narrow", .n_channels = 16, .unit = 1},
    {.name = "in \"pairs\"\t", .n_channels = 32, .unit = 2},
    {.name = "odd", .n_channels = 50, .unit = 1},
    {.name = "like wide", .n_channels = 64, .unit = 1},
    {.name = "unmeasured", .n_channels = 64, .unit = 1},
    {.name = "triples", .n_channels = 64, .unit = 3},
};
static const struct vbs_prune_groups ALL = {.n_groups = 7, .groups = GROUPS};

static struct vbs_sensitivity_point at(int group, int64_t keep, double accuracy)
{
    return (struct vbs_sensitivity_point){.group = group, .keep = keep, .accuracy = accuracy};
}

/* Gives the range of a group; one of no group: there is none. */
static struct vbs_sensitivity_range range_of(const struct vbs_sensitivity_point *points, int n,
                                             double fall, int64_t block, int group)
{
    struct vbs_sensitivity_range ranges[7], found = {.group = -1};
    struct vbs_ctx ctx = {0};
    int n_ranges = 0;

    if (vbs_sensitivity_propose(&ctx, &ALL, points, n, fall, block, ranges, &n_ranges) != VBS_OK)
        ok(false, "%s", vbs_detail(&ctx));
    for (int i = 0; i < n_ranges; i++)
        if (ranges[i].group == group)
            found = ranges[i];
    return found;
}

static void is_range(struct vbs_sensitivity_range range, double safe, double low, double high,
                     double step, int n_widths, const char *name)
{
    bool widths =
        n_widths == 0 || (fabs(range.low - low) < 1e-12 && fabs(range.high - high) < 1e-12 &&
                          fabs(range.step - step) < 1e-12);

    if (!ok(fabs(range.safe - safe) < 1e-12 && range.n_widths == n_widths && widths &&
                !range.why == (n_widths > 0),
            "%s", name))
        printf("# safe %g, %d widths from %g to %g by %g, %s\n", range.safe, range.n_widths,
               range.low, range.high, range.step, range.why ? range.why : "-");
}

static void check_rounding(void)
{
    const struct vbs_sensitivity_point points[] = {
        at(0, 8, 0.899), at(-1, 0, 0.90), at(0, 40, 0.895), at(0, 20, 0.890),
        at(0, 10, 0.80), at(1, 8, 0.90),  at(2, 9, 0.90),   at(3, 20, 0.90),
        at(3, 15, 0.70), at(4, 60, 0.5),  at(6, 16, 0.90)};
    int n = sizeof points / sizeof points[0];

    is_range(range_of(points, n, 0.01, 16, 0), 44 / 64.0, 0, 0.5, 0.25, 3,
             "20 of 64 channels are safe, though 8 look better behind 10 that are not: 32 stay");
    is_range(range_of(points, n, 0.005, 16, 0), 24 / 64.0, 0, 0.25, 0.25, 2,
             "a smaller fall allows less");
    is_range(range_of(points, n, 0.01, 1, 0), 44 / 64.0, 0, 44 / 64.0, 1 / 64.0, 45,
             "without blocks every width counts");
    is_range(range_of(points, n, 0.01, 16, 1), 0.5, 0, 0, 0, 0, "a block holds the whole group");
    is_range(range_of(points, n, 0.01, 16, 2), 23 / 32.0, 0, 0.5, 0.25, 3,
             "filters count where a channel has two of them");
    is_range(range_of(points, n, 0.01, 16, 3), 30 / 50.0, 2 / 50.0, 18 / 50.0, 16 / 50.0, 2,
             "of 50 filters 48 and 32 end a block");
    is_range(range_of(points, n, 0.01, 16, 4), 0, 0, 0, 0, 0, "nothing is safe");
    is_range(range_of(points, n, 0.01, 16, 6), 48 / 64.0, 0, 0.75, 0.25, 4,
             "blocks of channels of three filters are 48 filters");
    is_int(range_of(points, n, 0.01, 16, 5).group, -1, "a group without points has no range");
    for (int g = 0; g < 5; g++) {
        struct vbs_sensitivity_range range = range_of(points, n, 0.01, 16, g);
        const struct vbs_prune_group *group = &GROUPS[g];

        for (int i = 0; i < range.n_widths; i++) {
            int64_t keep = vbs_prune_keep(group, range.low + i * range.step, 1);

            ok(keep * group->unit % 16 == 0 || keep == group->n_channels,
               "'%s', width %d: %lld channels stay", group->name, i, (long long)keep);
        }
    }
}

static void check_single(void)
{
    const struct vbs_sensitivity_point points[] = {at(-1, 0, 0.90), at(3, 45, 0.90)};

    is_range(range_of(points, 2, 0.01, 16, 3), 5 / 50.0, 0, 2 / 50.0, 2 / 50.0, 2,
             "where 48 of 50 filters alone end a block, the choice is between all and 48");
}

static void check_retrained(void)
{
    struct vbs_sensitivity_point points[] = {at(-1, 0, 0.90), at(0, 32, 0.30), at(0, 16, 0.20)};

    for (int i = 0; i < 3; i++)
        points[i].retrained = true;
    points[0].retrained_accuracy = 0.92;
    points[1].retrained_accuracy = 0.915;
    points[2].retrained_accuracy = 0.905;
    is_range(range_of(points, 3, 0.01, 16, 0), 0.5, 0, 0.5, 0.25, 3,
             "retrained accuracies are compared with that of the whole network trained on");
    points[1].retrained = false;
    points[1].diverged = true;
    points[1].accuracy = 0.92;
    is_range(range_of(points, 3, 1, 16, 0), 0, 0, 0, 0, 0,
             "a point that diverged is too inaccurate for any fall, whatever it was before");
}

static void check_text(void)
{
    const struct vbs_sensitivity_point points[] = {at(-1, 0, 0.9), at(0, 16, 0.9), at(1, 8, 0.9),
                                                   at(2, 8, 0.9),  at(3, 15, 0.9), at(4, 16, 0.9)};
    static const char WANT[] = "[[parameter]] # of 64 filters, 0 to 48 are removed\n"
                               "groups = [\"wide\", \"in \\\"pairs\\\"\\u0009\", \"like wide\"]\n"
                               "low = 0.0\nhigh = 0.75\nstep = 0.25\n\n"
                               "[[parameter]] # of 50 filters, 2 to 34 are removed\n"
                               "groups = [\"odd\"]\n"
                               "low = 0.04\nhigh = 0.68\nstep = 0.32\n";
    struct vbs_sensitivity_range ranges[7];
    struct vbs_ctx ctx = {0};
    int n = 0;
    char *text = NULL;

    ok(vbs_sensitivity_propose(&ctx, &ALL, points, 6, 0.01, 16, ranges, &n) == VBS_OK &&
           vbs_sensitivity_toml(&ctx, &ALL, ranges, n, &text) == VBS_OK,
       "ranges as text");
    if (!ok(text && strcmp(text, WANT) == 0, "groups of one width and range are one parameter"))
        printf("# %s\n", text);
    free(text);
}

static void check_refusals(void)
{
    const struct vbs_sensitivity_point points[] = {at(0, 16, 0.9), at(-1, 0, 0.9)};
    struct vbs_sensitivity_range ranges[7];
    struct vbs_ctx ctx = {0};
    int n = 7;

    is_int(vbs_sensitivity_propose(&ctx, &ALL, points, 1, 0.01, 16, ranges, &n), VBS_USAGE,
           "without a point of the whole network there is nothing to compare with");
    is_int(vbs_sensitivity_propose(&ctx, &ALL, points, 2, 0.01, 0, ranges, &n), VBS_USAGE,
           "blocks of no filters");
    is_int(vbs_sensitivity_propose(&ctx, &ALL, points, 2, 1.5, 16, ranges, &n), VBS_USAGE,
           "a fall of more than everything");
    is_int(n, 7, "outputs stay as they were");
}

int main(void)
{
    check_rounding();
    check_single();
    check_retrained();
    check_text();
    check_refusals();
    return done_testing();
}
