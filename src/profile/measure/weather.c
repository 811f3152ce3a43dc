/*
 * The speed of the last-level cache while kernels are timed.
 *
 * Where others use the machine, too (other guests of its host), they use the last-level cache and
 * the memory behind it. Times of layers then grow by up to the double for seconds, although no
 * thread waits for a processor and no clock of the system shows it; fixed reads of the cache show
 * it at once. So they do where the host moves the processors of this machine to places that have no
 * last-level cache in common: a thread then finds what another has written several times later.
 * Reads in one state differ by up to a tenth; an EPYC of family 25 reads 36 to 40 GB/s where its
 * processors have a cache in common, and else 20 to 24. They are repeated every INTERVAL_S seconds.
 * The cache is slow when they get less than SLOW of what a quarter of all reads so far have got at
 * least.
 */
#include "profile/measure/measure.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <string.h>

#define INTERVAL_S 0.2
#define SLOW       0.85

/* Puts a value in order among those that are kept; where there is no more room, in the place of one
 * of them by turns. */
static void keep(struct vbs_weather *weather, double speed)
{
    int at = weather->n < VBS_WEATHER_KEPT ? weather->n++ : weather->next;

    weather->next = (weather->next + 1) % VBS_WEATHER_KEPT;
    weather->speeds[at] = speed;
}

static double quantile(const struct vbs_weather *weather, double fraction)
{
    double sorted[VBS_WEATHER_KEPT];

    memcpy(sorted, weather->speeds, (size_t)weather->n * sizeof *sorted);
    gsl_sort(sorted, 1, (size_t)weather->n);
    return gsl_stats_quantile_from_sorted_data(sorted, 1, (size_t)weather->n, fraction);
}

bool vbs_weather_is_due(const struct vbs_weather *weather, double now_s)
{
    return weather->n == 0 || now_s - weather->asked_s >= INTERVAL_S;
}

void vbs_weather_add(struct vbs_weather *weather, double now_s, double speed)
{
    weather->asked_s = now_s;
    if (!(speed > 0))
        return;
    keep(weather, speed);
    weather->is_slow = speed < SLOW * quantile(weather, 0.75);
}

double vbs_weather_speed(const struct vbs_weather *weather)
{
    double good[VBS_WEATHER_KEPT], least;
    size_t n = 0;

    if (weather->n == 0)
        return 0;
    least = SLOW * quantile(weather, 0.75);
    for (int i = 0; i < weather->n; i++)
        if (weather->speeds[i] >= least)
            good[n++] = weather->speeds[i];
    gsl_sort(good, 1, n);
    return gsl_stats_median_from_sorted_data(good, 1, n);
}
