/*
 * Disturbances. Times are compared with the median of their kernel so far (of at least
 * VBS_JUDGED_RUNS).
 *
 * A single time is disturbed when the system took a processor from one of the threads meanwhile and
 * the time exceeds PREEMPTED times the median: another process had its turn, of some milliseconds.
 * Most preemptions are by the system's own short work and change nothing, so the preemption alone
 * is no reason; neither is slowness alone, which belongs to the measured kernel.
 *
 * Other disturbances (a clock that falls, a neighbour that takes the memory's bandwidth, a host
 * that takes the processor from a virtual machine) show themselves by many layers being slow at
 * once. A time is slow when it exceeds SLOW times the median. A stretch is disturbed when two
 * conditions hold: its total exceeds SLOW times the expected total; and of the last WINDOW layers
 * or more, which include layers before a short stretch, more than a third and at least MIN_SLOW are
 * slow.
 *
 * A stretch is closed when its layers have taken STRETCH_US together or the pass ends, so that a
 * kill loses few times, and one verdict rejects few.
 */
#include "profile/measure/measure.h"

#define SLOW       1.25
#define PREEMPTED  1.05
#define WINDOW     8
#define MIN_SLOW   3
#define STRETCH_US 20000.0

bool vbs_stretch_hold(struct vbs_stretch *stretch, const struct vbs_runs *runs, int kernel,
                      double time_us, bool preempted)
{
    stretch->times[stretch->n_times++] = (struct vbs_held_time){
        .kernel = kernel,
        .time_us = time_us,
        .expected_us = runs->summary.n_runs >= VBS_JUDGED_RUNS ? runs->summary.time_us : 0,
        .preempted = preempted,
    };
    stretch->total_us += time_us;
    return stretch->total_us >= STRETCH_US;
}

static bool is_judged(const struct vbs_held_time *held)
{
    return held->expected_us > 0;
}

static bool is_slow(const struct vbs_held_time *held)
{
    return held->time_us > SLOW * held->expected_us;
}

bool vbs_held_is_disturbed(const struct vbs_held_time *held)
{
    return held->preempted && is_judged(held) && held->time_us > PREEMPTED * held->expected_us;
}

bool vbs_stretch_is_disturbed(const struct vbs_stretch *stretch)
{
    double total_us = 0, expected_us = 0;
    int n_judged = 0, n_slow = 0;

    for (int i = 0; i < stretch->n_times; i++) {
        const struct vbs_held_time *held = &stretch->times[i];

        if (!is_judged(held))
            continue;
        total_us += held->time_us;
        expected_us += held->expected_us;
        n_judged++;
        n_slow += is_slow(held);
    }
    for (int i = 0; n_judged < WINDOW && i < stretch->n_before; i++) {
        n_judged++;
        n_slow += stretch->slow_before >> i & 1;
    }
    return total_us > SLOW * expected_us && n_slow >= MIN_SLOW && 3 * n_slow > n_judged;
}

void vbs_stretch_close(struct vbs_stretch *stretch)
{
    for (int i = 0; i < stretch->n_times; i++) {
        if (!is_judged(&stretch->times[i]))
            continue;
        stretch->slow_before = stretch->slow_before << 1 | is_slow(&stretch->times[i]);
        stretch->n_before += stretch->n_before < WINDOW;
    }
    stretch->n_times = 0;
    stretch->total_us = 0;
}
