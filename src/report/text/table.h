/* Functions that the gain table and the words around it share. Internal to the report room. */
#ifndef VBS_REPORT_TEXT_TABLE_H
#define VBS_REPORT_TEXT_TABLE_H

#include "report/common/common.h"

#define VBS_TABLE_WIDTH 100 /* characters of a line, where no terminal says otherwise */
#define VBS_TABLE_LEAST 40  /* a narrower terminal breaks lines */

/* Writes "12.3%", or "-" where there is none. */
void vbs_table_set_percent(struct vbs_form_cell *cell, double percent);

/* Writes "12.3+-0.4%", with a ~ before it where the gain may be 0. */
void vbs_table_set_gain(struct vbs_form_cell *cell, const struct vbs_gain *gain);

/* The unit and the decimals of times: four figures of the longest. */
struct vbs_table_time {
    const char *name;
    double us;
    int decimals;
};

struct vbs_table_time vbs_table_time_of(const struct vbs_compare *compare);

/* Writes a time behind a mark. */
void vbs_table_set_time(struct vbs_form_cell *cell, const struct vbs_table_time *form,
                        const char *mark, double us);

/* Writes budget b in a unit, without its name. */
void vbs_table_set_budget(struct vbs_form_cell *cell, const struct vbs_compare *compare, int b,
                          const struct vbs_form_unit *unit);

/* Gives the width of lines for this number of columns of a terminal. */
int vbs_table_width(int columns);

/* Adds the words above the table, in lines of width; time_name is the unit of its times. */
void vbs_table_add_header(struct vbs_text *text, const struct vbs_compare *compare,
                          const char *time_name, int width);

/* Adds the words below the table; n_ours planners are no baselines. */
void vbs_table_add_notes(struct vbs_text *text, const struct vbs_compare *compare, int n_ours,
                         int width);

#endif
