/* Cells of the gain table that the header and the notes also show. */
#include "report/text/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void vbs_table_set_percent(struct vbs_form_cell *cell, double percent)
{
    if (!isfinite(percent))
        strcpy(cell->text, "-");
    else if (fabs(percent) < 1e5)
        /* Adding zero turns what would be printed as -0.0 into 0.0. */
        snprintf(cell->text, sizeof cell->text, "%.1f%%", round(10 * percent) / 10 + 0.0);
    else
        snprintf(cell->text, sizeof cell->text, "%.0e%%", percent);
}

/* Shows the larger half of the interval. */
void vbs_table_set_gain(struct vbs_form_cell *cell, const struct vbs_gain *gain)
{
    double half = fmax(gain->high_percent - gain->percent, gain->percent - gain->low_percent);
    bool noise = gain->low_percent <= 0 && gain->high_percent >= 0;

    if (!isfinite(half) || half >= 1e5 || fabs(gain->percent) >= 1e5)
        vbs_table_set_percent(cell, gain->percent);
    else
        snprintf(cell->text, sizeof cell->text, "%s%.1f+-%.1f%%", noise ? "~" : "",
                 round(10 * gain->percent) / 10 + 0.0, half);
}
