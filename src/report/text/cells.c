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

struct vbs_table_time vbs_table_time_of(const struct vbs_compare *compare)
{
    struct vbs_table_time form = {"us", 1, 0};
    double longest = 0;

    for (int i = 0; i < compare->n_budgets * compare->n_planners; i++)
        longest = fmax(longest, compare->rows[i].per_sample_us);
    if (longest >= 1e6)
        form = (struct vbs_table_time){"s", 1e6, 0};
    else if (longest >= 1e3 || longest == 0)
        form = (struct vbs_table_time){"ms", 1e3, 0};
    for (double least = 1000 * form.us; form.decimals < 3 && longest < least; least /= 10)
        form.decimals++;
    return form;
}

void vbs_table_set_time(struct vbs_form_cell *cell, const struct vbs_table_time *form,
                        const char *mark, double us)
{
    if (us < 1e7 * form->us)
        snprintf(cell->text, sizeof cell->text, "%s%.*f", mark, form->decimals, us / form->us);
    else
        snprintf(cell->text, sizeof cell->text, "%s%.2e", mark, us / form->us);
}

/* Shows few decimals where most budgets are whole and only some are not. */
static void set_decimals(struct vbs_form_cell *cell, double value, int decimals, bool few)
{
    size_t length;

    snprintf(cell->text, sizeof cell->text, "%.*f", decimals, value);
    length = strlen(cell->text);
    while (few && length > 0 && cell->text[length - 1] == '0')
        cell->text[--length] = '\0';
    if (few && length > 0 && cell->text[length - 1] == '.')
        cell->text[--length] = '\0';
}

void vbs_table_set_budget(struct vbs_form_cell *cell, const struct vbs_compare *compare, int b,
                          const struct vbs_form_unit *unit)
{
    int64_t bytes = compare->budgets[b];

    /* A double does not hold every whole number. */
    if (unit->decimals == 0)
        snprintf(cell->text, sizeof cell->text, "%lld", (long long)(bytes / unit->bytes));
    else
        set_decimals(cell, (double)bytes / (double)unit->bytes, unit->decimals,
                     compare->weights == VBS_WEIGHTS_INCLUDED);
}

int vbs_table_width(int columns)
{
    return columns == 0 ? VBS_TABLE_WIDTH : columns < VBS_TABLE_LEAST ? VBS_TABLE_LEAST : columns;
}
