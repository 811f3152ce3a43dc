#include "cli/explain/explain.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME      10   /* characters of a name that are shown */
#define SAME_TIME 1e-9 /* sums of the same numbers in another order differ by less */

bool cli_is_faster(double a_us, double b_us)
{
    return a_us < b_us && !(fabs(a_us - b_us) <= SAME_TIME * fabs(b_us));
}

bool cli_is_equal(double a_us, double b_us)
{
    return !cli_is_faster(a_us, b_us) && !cli_is_faster(b_us, a_us);
}

static const char *name_of(const struct cli_explanation *about, int layer)
{
    return about->problem->profile->layers[layer].name;
}

/* Writes a layer by its number and name; of long names the end, in which they differ. */
static void one_layer(char *buffer, size_t size, int layer, const char *name)
{
    size_t length = strlen(name);

    if (length > NAME)
        snprintf(buffer, size, "%d ..%s", layer, name + length - (NAME - 2));
    else
        snprintf(buffer, size, "%d %s", layer, name);
}

char *cli_layers_label(const struct cli_explanation *about, const struct vbs_decision *decision,
                       char *buffer, size_t size)
{
    if (decision->n_layers == 1)
        one_layer(buffer, size, decision->first_layer, name_of(about, decision->first_layer));
    else
        snprintf(buffer, size, "%d..%d", decision->first_layer, decision->last_layer);
    return buffer;
}

static const char *algorithm_of(const struct cli_explanation *about, int algorithm)
{
    return about->problem->profile->algorithms[algorithm];
}

/* Writes "pivot 4", or "pivot 4..9" of a branched block. */
static void pivot_label(const struct vbs_candidate *candidate, char *buffer, size_t size)
{
    for (int p = 0; p < candidate->n_parts; p++) {
        const struct vbs_part *part = &candidate->parts[p];

        if (part->first_layer == candidate->at && part->last_layer != candidate->at) {
            snprintf(buffer, size, "pivot %d..%d", candidate->at, part->last_layer);
            return;
        }
    }
    snprintf(buffer, size, "pivot %d", candidate->at);
}

char *cli_choice_label(const struct cli_explanation *about, const struct vbs_decision *decision,
                       const struct vbs_candidate *candidate, char *buffer, size_t size)
{
    int at = candidate->at, rest = decision->samples - at;

    switch (candidate->choice) {
    case VBS_CHOICE_CHUNK:
        if (rest == 0)
            snprintf(buffer, size, "one chunk of %d", at);
        else
            snprintf(buffer, size, "chunk of %d, then %d", at, rest);
        break;
    case VBS_CHOICE_SPLIT:
        if (rest == 0)
            snprintf(buffer, size, "no split");
        else
            snprintf(buffer, size, "split %d + %d", at, rest);
        break;
    case VBS_CHOICE_BARRIER:
        snprintf(buffer, size, "barrier after %d", at);
        break;
    case VBS_CHOICE_PIVOT:
        pivot_label(candidate, buffer, size);
        break;
    case VBS_CHOICE_BLOCK:
        snprintf(buffer, size, "branches in turn");
        break;
    case VBS_CHOICE_STEP:
        snprintf(buffer, size, "%.14s", algorithm_of(about, at));
        break;
    case VBS_CHOICE_DIVISOR:
        snprintf(buffer, size, "%d x %d before %d", decision->samples / at, at,
                 decision->last_layer);
        break;
    case VBS_CHOICE_BATCH:
        snprintf(buffer, size, "batch %d", at);
        break;
    case VBS_CHOICE_ROWS:
        snprintf(buffer, size, "by rows, %d at last", at);
        break;
    }
    return buffer;
}
