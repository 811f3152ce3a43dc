/* What all searches of the offset allocation use: the limits of time and steps, random numbers, and
 * the best allocation of a component so far. */
#include "place/internal.h"

#include "base/clock.h"
#include "base/fail.h"

#include <math.h>
#include <string.h>

#define LOOK_STEPS 2000 /* between looks at the clock */
#define REPORT_S   0.1  /* between reports of progress */

static void report(struct placing *placing, double now_s)
{
    double whole_s = placing->end_s - placing->start_s;
    bool ends = placing->end_s < HUGE_VAL && whole_s > 0;

    if (!placing->progress.report || now_s < placing->report_s)
        return;
    placing->report_s = now_s + REPORT_S;
    placing->progress.report(placing->progress.self,
                             ends ? fmin((now_s - placing->start_s) / whole_s, 1) : 0,
                             ends ? fmax(placing->end_s - now_s, 0) : -1, "searching for offsets");
}

bool vbs_placing_step(struct placing *placing, int64_t n_steps)
{
    double now_s;

    placing->n_steps += n_steps;
    if (placing->n_steps < placing->next_look)
        return !placing->over;
    placing->next_look = placing->n_steps + LOOK_STEPS;
    now_s = vbs_clock_s();
    report(placing, now_s);
    if ((placing->step_limit > 0 && placing->n_steps >= placing->step_limit) ||
        now_s >= placing->end_s || vbs_cancelled(placing->ctx))
        placing->over = true;
    return !placing->over;
}

/* splitmix64 (Steele, Lea, Flood, 2014). */
uint64_t vbs_placing_random(struct placing *placing, uint64_t n)
{
    uint64_t value = placing->random += 0x9e3779b97f4a7c15u;

    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return (value ^ (value >> 31)) % n;
}

void vbs_placing_set_limits(struct placing *placing, const struct vbs_place_options *options)
{
    double limit_s = options->time_limit_s == 0 ? VBS_PLACE_TIME_S : options->time_limit_s;

    placing->start_s = vbs_clock_s();
    placing->end_s = limit_s < 0 ? HUGE_VAL : placing->start_s + limit_s;
    placing->step_limit = options->step_limit;
    placing->random = options->seed;
    placing->progress = options->progress;
    placing->report_s = placing->start_s + REPORT_S;
}

void vbs_placing_take(struct placing_component *component, const int64_t *offsets, int64_t height,
                      enum vbs_place_method method)
{
    memcpy(component->offsets, offsets, (size_t)component->n * sizeof *offsets);
    component->height = height;
    component->method = method;
}
