/* The parameters of a space as coordinates of Gaussian processes. */
#include "tune/space/space.h"

void vbs_tune_axes(const struct vbs_search_space *space, struct tune_axes *axes)
{
    axes->n = 0;
    for (int categorical = 0; categorical < 2; categorical++) {
        for (int i = 0; i < space->n_parameters; i++) {
            const struct vbs_search_parameter *parameter = &space->parameters[i];

            if ((parameter->kind == VBS_SEARCH_CATEGORICAL) == categorical &&
                vbs_tune_n_values(parameter) > 1)
                axes->parameter[axes->n++] = i;
        }
        if (!categorical)
            axes->n_smooth = axes->n;
    }
}

void vbs_tune_locate(const struct vbs_search_space *space, const struct tune_axes *axes,
                     const double *point, double *x)
{
    for (int k = 0; k < axes->n; k++) {
        int i = axes->parameter[k];

        x[k] = vbs_tune_coordinate(&space->parameters[i], point[i]);
    }
}
