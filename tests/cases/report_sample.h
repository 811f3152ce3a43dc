/* A comparison made by hand, and the folder for pictures of the tests of the report room. */
#ifndef TESTS_REPORT_SAMPLE_H
#define TESTS_REPORT_SAMPLE_H

#include "vbslab/report.h"

#define SAMPLE_BUDGETS  4
#define SAMPLE_PLANNERS 4 /* fbs, fbs-best, greedy-vbs, dp-vbs */

/* A comparison with all its data. compare points into the struct itself, so it must not be
 * copied. */
struct report_sample {
    struct vbs_compare compare;
    int64_t budgets[SAMPLE_BUDGETS];
    double bound_us[SAMPLE_BUDGETS];
    const struct vbs_planner *planners[SAMPLE_PLANNERS];
    struct vbs_compare_row rows[SAMPLE_BUDGETS][SAMPLE_PLANNERS];
};

/* Fills a sample: 12 samples of "googlenet" at 10, 20, 30 and 40 MiB. fbs and fbs-best are
 * infeasible at the first, greedy-vbs at all but the last. Gains have intervals; dp-vbs is within
 * noise of fbs-best at 30 MiB, and its gain over fbs at 40 MiB may be anything from 2.5% to 20%. */
void report_sample_fill(struct report_sample *sample);

/* Makes every row infeasible. */
void report_sample_starve(struct report_sample *sample);

/*
 * Makes an empty folder, to which TMPDIR is set; its path is short, so that a hostile name can
 * contain it. Ends the program when it cannot. report_folder_remove removes the folder.
 */
const char *report_folder(void);

/* Counts the entries of the folder. */
int report_folder_count(void);

void report_folder_remove(void);

#endif
