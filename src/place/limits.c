/* Functions that all searches of the offset allocation use: limits of time and steps, random
 * numbers, and the best allocation of a component so far. */
#include "place/internal.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

#define LOOK_STEPS 2000 /* steps between looks at the clock */
#define REPORT_S   0.1  /* seconds between reports of progress */

static void report(struct place_search *search, double now_s)
{
    double whole_s = search->end_s - search->start_s;
    bool ends = search->end_s < HUGE_VAL && whole_s > 0;

    if (!search->progress.report || now_s < search->report_s)
        return;
    search->report_s = now_s + REPORT_S;
    search->progress.report(search->progress.self,
                            ends ? fmin((now_s - search->start_s) / whole_s, 1) : 0,
                            ends ? fmax(search->end_s - now_s, 0) : -1, "searching for offsets");
}

bool vbs_place_step(struct place_search *search, int64_t n_steps)
{
    double now_s;

    search->n_steps += n_steps;
    if (search->n_steps < search->next_look)
        return !search->over;
    search->next_look = search->n_steps + LOOK_STEPS;
    now_s = vbs_clock_s();
    report(search, now_s);
    if ((search->step_limit > 0 && search->n_steps >= search->step_limit) ||
        now_s >= search->end_s || vbs_cancelled(search->ctx))
        search->over = true;
    return !search->over;
}

uint64_t vbs_place_random(struct place_search *search, uint64_t n)
{
    return vbs_random_next(&search->random) % n;
}

void vbs_place_set_limits(struct place_search *search, const struct vbs_place_options *options)
{
    double limit_s = options->time_limit_s == 0 ? VBS_PLACE_TIME_S : options->time_limit_s;

    search->start_s = vbs_clock_s();
    search->end_s = limit_s < 0 ? HUGE_VAL : search->start_s + limit_s;
    search->step_limit = options->step_limit;
    search->random = options->seed;
    search->progress = options->progress;
    search->report_s = search->start_s + REPORT_S;
}

void vbs_place_record(struct place_component *component, const int64_t *offsets, int64_t height,
                      enum vbs_place_method method)
{
    memcpy(component->offsets, offsets, (size_t)component->n * sizeof *offsets);
    component->height = height;
    component->method = method;
}
