/* Checks of spaces and points, and parameters as coordinates. */
#include "tune/space/space.h"

#include "base/arith.h"
#include "base/fail.h"

#include <math.h>

#define MAX_WHOLE 0x1p53
#define ROUNDING  1e-9 /* of a step, that a value may be away from it */

/* ---- parameters ---- */

/* Gives the step, 0 of a continuous parameter. */
static double step_of(const struct vbs_search_parameter *parameter)
{
    if (parameter->kind == VBS_SEARCH_INTEGER && parameter->step == 0)
        return 1;
    return parameter->step;
}

bool vbs_tune_continuous(const struct vbs_search_parameter *parameter)
{
    return parameter->kind == VBS_SEARCH_REAL && parameter->step == 0 &&
           parameter->low < parameter->high;
}

int64_t vbs_tune_n_values(const struct vbs_search_parameter *parameter)
{
    if (parameter->kind == VBS_SEARCH_CATEGORICAL)
        return parameter->n_choices;
    if (vbs_tune_continuous(parameter))
        return INT64_MAX;
    if (parameter->low == parameter->high)
        return 1;
    return (int64_t)floor((parameter->high - parameter->low) / step_of(parameter) + ROUNDING) + 1;
}

double vbs_tune_value_at(const struct vbs_search_parameter *parameter, int64_t index)
{
    if (parameter->kind == VBS_SEARCH_CATEGORICAL)
        return (double)index;
    if (index == 0)
        return parameter->low + 0.0;
    return fmin(parameter->low + (double)index * step_of(parameter), parameter->high) + 0.0;
}

int64_t vbs_tune_nearest(const struct vbs_search_parameter *parameter, double value)
{
    int64_t n = vbs_tune_n_values(parameter);
    double index = value;

    if (parameter->kind != VBS_SEARCH_CATEGORICAL)
        index = n > 1 ? round((value - parameter->low) / step_of(parameter)) : 0;
    if (!(index > 0))
        return 0;
    return index < (double)(n - 1) ? (int64_t)index : n - 1;
}

double vbs_tune_coordinate(const struct vbs_search_parameter *parameter, double value)
{
    if (parameter->kind == VBS_SEARCH_CATEGORICAL)
        return value;
    if (parameter->low == parameter->high)
        return 0;
    if (parameter->log)
        return log(value / parameter->low) / log(parameter->high / parameter->low);
    return (value - parameter->low) / (parameter->high - parameter->low);
}

/* Gives the number at a coordinate, whether or not it is a value. */
static double number_at(const struct vbs_search_parameter *parameter, double coordinate)
{
    double number;

    if (parameter->log)
        number = parameter->low * exp(coordinate * log(parameter->high / parameter->low));
    else
        number = parameter->low + coordinate * (parameter->high - parameter->low);
    return fmin(fmax(number, parameter->low), parameter->high) + 0.0;
}

double vbs_tune_value_near(const struct vbs_search_parameter *parameter, double coordinate)
{
    if (parameter->kind == VBS_SEARCH_CATEGORICAL)
        return (double)vbs_tune_nearest(parameter, round(coordinate));
    coordinate = fmin(fmax(coordinate, 0), 1);
    if (vbs_tune_continuous(parameter))
        return number_at(parameter, coordinate);
    return vbs_tune_value_at(parameter,
                             vbs_tune_nearest(parameter, number_at(parameter, coordinate)));
}

/* Gives the number between two neighbouring values of a logarithmic parameter with steps, or before
 * the first, or behind the last one: half a step away, but above 0. */
static double log_border(const struct vbs_search_parameter *parameter, int64_t index)
{
    double border = parameter->low + ((double)index - 0.5) * step_of(parameter);

    return border > 0 ? border : parameter->low / 2;
}

double vbs_tune_value_of_share(const struct vbs_search_parameter *parameter, double u)
{
    int64_t n = vbs_tune_n_values(parameter), index;

    if (vbs_tune_continuous(parameter))
        return number_at(parameter, u);
    if (parameter->log && n > 1) {
        double from = log_border(parameter, 0), to = log_border(parameter, n);

        return vbs_tune_value_at(parameter,
                                 vbs_tune_nearest(parameter, from * exp(u * log(to / from))));
    }
    index = (int64_t)(u * (double)n);
    return vbs_tune_value_at(parameter, index < n ? index : n - 1);
}

void vbs_tune_shares(const struct vbs_search_parameter *parameter, double value, double *from,
                     double *to)
{
    int64_t n = vbs_tune_n_values(parameter), index;

    if (vbs_tune_continuous(parameter)) {
        *from = *to = vbs_tune_coordinate(parameter, value);
        return;
    }
    index = vbs_tune_nearest(parameter, value);
    if (parameter->log && n > 1) {
        double low = log_border(parameter, 0), all = log(log_border(parameter, n) / low);

        *from = log(log_border(parameter, index) / low) / all;
        *to = log(log_border(parameter, index + 1) / low) / all;
        return;
    }
    *from = (double)index / (double)n;
    *to = (double)(index + 1) / (double)n;
}

void vbs_tune_exact(const struct vbs_search_space *space, const double *point, double *exact)
{
    for (int i = 0; i < space->n_parameters; i++) {
        const struct vbs_search_parameter *parameter = &space->parameters[i];

        if (vbs_tune_continuous(parameter))
            exact[i] = point[i] + 0.0;
        else
            exact[i] = vbs_tune_value_at(parameter, vbs_tune_nearest(parameter, point[i]));
    }
}

/* ---- checks ---- */

static bool is_whole(double value)
{
    return fabs(value) <= MAX_WHOLE && value == floor(value);
}

/* Gives what is wrong with a parameter, or null. */
static const char *fault_of(const struct vbs_search_parameter *parameter)
{
    if ((unsigned)parameter->kind >= VBS_N_SEARCH_KINDS)
        return "its kind is unknown";
    if (parameter->kind == VBS_SEARCH_CATEGORICAL)
        return parameter->n_choices < 1 ? "it has no choices"
               : parameter->log         ? "choices have no logarithms"
                                        : NULL;
    if (!isfinite(parameter->low) || !isfinite(parameter->high))
        return "its bounds must be finite numbers";
    if (parameter->low > parameter->high)
        return "its lower bound is above its upper bound";
    if (!isfinite(parameter->high - parameter->low))
        return "its bounds are too far apart";
    if (!isfinite(parameter->step) || parameter->step < 0)
        return "its step must be a finite number, at least 0";
    if (parameter->log && !(parameter->low > 0))
        return "a logarithmic parameter must be above 0";
    if (parameter->log && !isfinite(parameter->high / parameter->low))
        return "its bounds are too far apart";
    if (parameter->kind == VBS_SEARCH_INTEGER &&
        (!is_whole(parameter->low) || !is_whole(parameter->high) || !is_whole(parameter->step)))
        return "bounds and step of an integer must be whole numbers within 2^53";
    if (parameter->step > 0 && (parameter->high - parameter->low) / parameter->step > MAX_WHOLE)
        return "it has more than 2^53 values";
    return NULL;
}

enum vbs_status vbs_search_space_check(struct vbs_ctx *ctx, const struct vbs_search_space *space)
{
    if (space->n_parameters < 1 || space->n_parameters > VBS_SEARCH_MAX_PARAMETERS)
        return vbs_fail(ctx, VBS_USAGE, "a search space has 1 to %d parameters, not %d",
                        VBS_SEARCH_MAX_PARAMETERS, space->n_parameters);
    for (int i = 0; i < space->n_parameters; i++) {
        const char *name = space->parameters[i].name, *fault = fault_of(&space->parameters[i]);

        if (!name || !*name)
            return vbs_fail(ctx, VBS_USAGE, "parameter %d has no name", i + 1);
        if (fault)
            return vbs_fail(ctx, VBS_USAGE, "parameter '%s': %s", name, fault);
    }
    return VBS_OK;
}

int64_t vbs_search_space_points(const struct vbs_search_space *space)
{
    int64_t n = 1;

    for (int i = 0; i < space->n_parameters; i++) {
        if (!vbs_mul(n, vbs_tune_n_values(&space->parameters[i]), &n))
            return INT64_MAX;
    }
    return n;
}

static enum vbs_status check_value(struct vbs_ctx *ctx,
                                   const struct vbs_search_parameter *parameter, double value)
{
    double step = step_of(parameter), low = parameter->low, high = parameter->high;

    if (parameter->kind == VBS_SEARCH_CATEGORICAL) {
        if (!is_whole(value) || value < 0 || value >= parameter->n_choices)
            return vbs_fail(ctx, VBS_USAGE, "parameter '%s' is %.17g, not a choice within 0..%d",
                            parameter->name, value, parameter->n_choices - 1);
        return VBS_OK;
    }
    if (!(value >= low && value <= high))
        return vbs_fail(ctx, VBS_USAGE, "parameter '%s' is %.17g, outside %.17g..%.17g",
                        parameter->name, value, low, high);
    if (step > 0) {
        double exact = vbs_tune_value_at(parameter, vbs_tune_nearest(parameter, value));

        if (fabs(value - exact) > (parameter->kind == VBS_SEARCH_INTEGER ? 0 : ROUNDING * step))
            return vbs_fail(ctx, VBS_USAGE,
                            "parameter '%s' is %.17g, not %.17g and whole steps "
                            "of %.17g",
                            parameter->name, value, low, step);
    }
    return VBS_OK;
}

enum vbs_status vbs_search_point_check(struct vbs_ctx *ctx, const struct vbs_search_space *space,
                                       const double *point)
{
    for (int i = 0; i < space->n_parameters; i++)
        VBS_TRY(check_value(ctx, &space->parameters[i], point[i]));
    return VBS_OK;
}
