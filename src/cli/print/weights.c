#include "cli/print/weights.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Marks the algorithms of the profile that steps of the schedule take, [n_layers + 1][n_algorithms
 * of the profile]; null: out of memory. */
static bool *mark_algorithms(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    size_t n = (size_t)profile->n_algorithms;
    bool *used = calloc((size_t)profile->n_layers + 1, n * sizeof *used);

    for (int a = 0; used && a < schedule->n_algorithms; a++) {
        int algorithm = vbs_profile_algorithm(profile, schedule->algorithms[a]);

        for (int64_t s = 0; s < schedule->n_steps && algorithm >= 0; s++)
            if (schedule->steps[s].op == VBS_STEP_COMPUTE && schedule->steps[s].algorithm == a)
                used[(size_t)schedule->steps[s].layer * n + (size_t)algorithm] = true;
    }
    return used;
}

/* Gives the first row of the layer with this algorithm, or null. */
static const struct vbs_profile_row *find_row(const struct vbs_profile *profile, int layer,
                                              int algorithm)
{
    for (int i = 0; i < profile->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

        for (int r = 0; r < n_rows; r++)
            if (rows[r].algorithm == algorithm)
                return &rows[r];
    }
    return NULL;
}

/* used: [n_algorithms], the algorithms that compute the layer. */
static int64_t used_of_layer(const struct vbs_profile *profile, int layer, const bool *used)
{
    int64_t bytes = 0;
    uint64_t formats = 0; /* bit f: the packed format f was counted */

    for (int a = 0; a < profile->n_algorithms; a++) {
        const struct vbs_profile_row *row = used[a] ? find_row(profile, layer, a) : NULL;

        if (!row || formats >> row->format & 1)
            continue;
        bytes += row->weight_bytes;
        formats |= (uint64_t)1 << row->format;
    }
    return bytes;
}

enum vbs_status cli_used_weights(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 const struct vbs_schedule *schedule, int64_t *weight_bytes)
{
    bool *used = mark_algorithms(profile, schedule);
    int64_t bytes = 0;

    if (!used)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= profile->n_layers; k++)
        bytes += used_of_layer(profile, k, used + (size_t)k * (size_t)profile->n_algorithms);
    free(used);
    *weight_bytes = bytes;
    return VBS_OK;
}

void cli_print_held(enum vbs_weights weights, int64_t bytes, const char *indent)
{
    char text[24];

    if (weights == VBS_WEIGHTS_EXCLUDED && bytes > 0)
        printf("%sweights outside the budget: %s; --weights included counts them\n", indent,
               vbs_format_bytes(bytes, text, sizeof text));
}

void cli_print_outside(enum vbs_weights weights, int64_t least_bytes, int64_t most_bytes,
                       const char *indent)
{
    char least[24], most[24];

    if (weights != VBS_WEIGHTS_EXCLUDED || most_bytes == 0)
        return;
    vbs_format_bytes(least_bytes, least, sizeof least);
    vbs_format_bytes(most_bytes, most, sizeof most);
    if (least_bytes < most_bytes)
        printf("%sweights outside the budget: from %s (coded) to %s (dense), by plan; --weights "
               "included counts them\n",
               indent, least, most);
    else
        printf("%sweights outside the budget: %s before packing; --weights included counts them\n",
               indent, most);
}

void cli_print_rate(const struct vbs_link *copy)
{
    char bytes[24];

    printf("%s/s",
           vbs_format_bytes((int64_t)fmin(1e6 * copy->bytes_per_us, 1e18), bytes, sizeof bytes));
}

void cli_print_link(const struct vbs_link *copy)
{
    if (!(copy->bytes_per_us > 0)) {
        printf(", no copies");
        return;
    }
    printf(", copies at ");
    cli_print_rate(copy);
    if (!copy->source || strcmp(copy->source, "given") == 0)
        return;
    printf(" from ");
    cli_print_name(copy->source);
}
