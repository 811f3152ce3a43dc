/* Throughput against memory, of comparisons. Internal to the report room. */
#ifndef VBS_REPORT_PLOT_THROUGHPUT_H
#define VBS_REPORT_PLOT_THROUGHPUT_H

#include "report/plot/gnuplot.h"

/* Draws comparisons into a picture that was begun; exact: their budgets are all breakpoints of the
 * curves. subject: what the picture shows, for those who cannot see it. */
enum vbs_status vbs_throughput_draw(struct vbs_gnuplot *picture,
                                    const struct vbs_compare *const *compares, int n_compares,
                                    bool exact, const char *subject) VBS_MUST_CHECK;

#endif
