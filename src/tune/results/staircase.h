/* Points of a plane that do not dominate each other. Internal to the sub-room. */
#ifndef VBS_TUNE_RESULTS_STAIRCASE_H
#define VBS_TUNE_RESULTS_STAIRCASE_H

#include <stdbool.h>

/* A point. */
struct tune_step {
    double x, y;
};

/* Points in the order of falling x, which is that of rising y. */
struct tune_staircase {
    int n;
    struct tune_step *steps; /* the caller's, with space for all points that are added */
};

/* Gives whether a point is dominated: some point of the staircase is at least as good in both, and
 * is better in one or, where `equal` is set, equal. O(log n). */
bool vbs_tune_staircase_dominates(const struct tune_staircase *staircase, struct tune_step point,
                                  bool equal);

/* Adds a point that is not dominated, and removes those that it dominates or equals; gives the area
 * that is dominated in addition, above (x0, y0), which all points are. O(log n), and the number of
 * points that move. */
double vbs_tune_staircase_add(struct tune_staircase *staircase, struct tune_step point, double x0,
                              double y0);

#endif
