#include "train/run.h"

#include <math.h>

double vbs_train_rate(const struct vbs_train_options *options, int64_t epoch_steps, int64_t step)
{
    double warm = options->warm_up_epochs * (double)epoch_steps;
    double total = (double)options->epochs * (double)epoch_steps;
    double epochs = ((double)step - warm) / (double)epoch_steps; /* behind the warm-up */

    if ((double)step < warm)
        return options->rate * ((double)step + 1) / (warm + 1);
    switch (options->course) {
    case VBS_RATE_STEP:
        return options->rate * pow(options->rate_factor, floor(epochs / options->rate_epochs));
    case VBS_RATE_EXPONENTIAL:
        return options->rate * pow(options->rate_factor, epochs);
    case VBS_RATE_COSINE:
        return options->rate * (1 + cos(acos(-1.0) * ((double)step - warm) / (total - warm))) / 2;
    default:
        return options->rate;
    }
}
