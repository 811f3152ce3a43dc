/* The shares of a measurement's time that its parts may take. */
#include "base/clock.h"
#include "vbslab/measure.h"

#include <math.h>

/* Shares of the time until there is a profile. */
#define PREPARED    0.4  /* at which kernels are prepared at the latest */
#define CALIBRATED  0.15 /* the most that factors beside copies may take */
#define TIMED       0.9  /* at which kernels are timed at the latest */
#define TIMED_EARLY 0.7  /* the same, where schedules are executed afterwards */
#define LEARNED     0.9  /* at which learning ends, which may take a little longer */
#define STOPPED     0.95 /* at which it is stopped */

/* Shares of the limit that was given. */
#define LEARNING          0.75  /* for executing schedules */
#define LEARN_LEAST       0.375 /* the same, where kernels take longer */
#define CALIBRATION       0.125
#define CALIBRATION_EARLY 0.0625 /* where schedules are executed afterwards */

#define SOON_S 1e-3 /* the least time that is left: 0 would stand for a default */

void vbs_measure_divide(double time_limit_s, double most_s, bool learns,
                        struct vbs_measure_shares *shares)
{
    bool quick = most_s == 0 && time_limit_s > 0 && time_limit_s < VBS_MEASURE_LEAST_S;
    double limit_s = time_limit_s > 0 ? time_limit_s : VBS_MEASURE_S;
    struct vbs_measure_shares made = {.begin_s = vbs_clock_s(), .limit_s = limit_s};

    made.most_s = most_s > 0 ? most_s : quick ? VBS_MEASURE_S : limit_s;
    made.prepared_s = PREPARED * made.most_s;
    made.calibration_s =
        fmin(VBS_CALIBRATION_S, (learns ? CALIBRATION_EARLY : CALIBRATION) * limit_s);
    made.calibrated_s = quick ? 0 : CALIBRATED * made.most_s;
    made.timed_s = (learns ? TIMED_EARLY : TIMED) * made.most_s;
    made.learning_s = learns ? LEARNING * limit_s : 0;
    made.least_learning_s = learns ? LEARN_LEAST * limit_s : 0;
    made.learned_s = LEARNED * made.most_s;
    made.stopped_s = STOPPED * made.most_s;
    *shares = made;
}

double vbs_measure_left_s(const struct vbs_measure_shares *shares, double until_s)
{
    return fmax(SOON_S, shares->begin_s + until_s - vbs_clock_s());
}

double vbs_measure_part_s(const struct vbs_measure_shares *shares, double part_s)
{
    return part_s > 0 ? fmin(part_s, vbs_measure_left_s(shares, shares->timed_s) / 2) : 0;
}

double vbs_measure_excess_s(const struct vbs_measure_shares *shares)
{
    return fmax(0, vbs_clock_s() - shares->begin_s - shares->most_s);
}
