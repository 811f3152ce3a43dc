/*
 * tune/space: parameters as coordinates. This header names everything that the other sub-rooms of
 * tune use of it. random.h has numbers that look random.
 *
 * A parameter that is not continuous has values with the indices 0, 1, ... A coordinate is a number
 * within 0..1: how far a value is from low to high, in logarithms where the parameter is
 * logarithmic. The coordinate of a categorical parameter is the index of the choice itself.
 */
#ifndef VBS_TUNE_SPACE_SPACE_H
#define VBS_TUNE_SPACE_SPACE_H

#include "tune/space/random.h"
#include "vbslab/tune.h"

/* Gives whether a parameter is continuous and has more than one value. */
bool vbs_tune_continuous(const struct vbs_search_parameter *parameter);

/* Gives the number of values of a parameter; INT64_MAX where it is continuous. */
int64_t vbs_tune_n_values(const struct vbs_search_parameter *parameter);

/* Gives the value with an index, of a parameter that is not continuous. */
double vbs_tune_value_at(const struct vbs_search_parameter *parameter, int64_t index);

/* Gives the index of the value nearest to a number, of a parameter that is not continuous. */
int64_t vbs_tune_nearest(const struct vbs_search_parameter *parameter, double value);

/* Gives the coordinate of a value. */
double vbs_tune_coordinate(const struct vbs_search_parameter *parameter, double value);

/* Gives the value nearest to a coordinate, which is first moved into 0..1. */
double vbs_tune_value_near(const struct vbs_search_parameter *parameter, double coordinate);

/* Gives the value at a share 0 <= u < 1 of the space: with u evenly distributed, so are values (of
 * a logarithmic parameter: their logarithms). */
double vbs_tune_value_of_share(const struct vbs_search_parameter *parameter, double u);

/* Gives the smallest and the largest share that a value stands for. */
void vbs_tune_shares(const struct vbs_search_parameter *parameter, double value, double *from,
                     double *to);

/* Writes a point as one with exact values: rounded to steps, without negative zeros. */
void vbs_tune_exact(const struct vbs_search_space *space, const double *point, double *exact);

/* The parameters that have more than one value, as coordinates of Gaussian processes. */
struct tune_axes {
    int n, n_smooth; /* categories come last */
    int parameter[VBS_SEARCH_MAX_PARAMETERS];
};

/* Finds the coordinates of a space. */
void vbs_tune_axes(const struct vbs_search_space *space, struct tune_axes *axes);

/* Writes the coordinates [axes->n] of a point. */
void vbs_tune_locate(const struct vbs_search_space *space, const struct tune_axes *axes,
                     const double *point, double *x);

#endif
