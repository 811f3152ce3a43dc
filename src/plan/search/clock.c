#include "plan/search/clock.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>

#define REPORT_S 0.1

double vbs_search_now(const struct vbs_task *task)
{
    return task->clock && task->clock->counts_nodes ? (double)task->clock->n_nodes : vbs_clock_s();
}

void vbs_search_report(const struct vbs_task *task)
{
    const struct vbs_progress *progress = &task->options.progress;
    struct vbs_search_clock *clock = task->clock;
    double now_s = vbs_clock_s(), done, left_s = -1;
    char text[64] = "search";

    if (!progress->report || !clock || now_s < clock->reported_s + REPORT_S)
        return;
    clock->reported_s = now_s;
    done = (vbs_search_now(task) - clock->from) / (clock->until - clock->from);
    done = fmin(fmax(done, 0), 1);
    if (!clock->counts_nodes)
        left_s = fmax(clock->until - now_s, 0);
    if (clock->best_ticks < VBS_NEVER_TICKS && clock->bound_ticks > 0)
        snprintf(text, sizeof text, "search, gap %.2f%%",
                 100 * (double)(clock->best_ticks - clock->bound_ticks) /
                     (double)clock->bound_ticks);
    if (clock->frontier_from_s > 0) {
        done = clock->frontier_share;
        left_s = vbs_left_s(done, clock->frontier_reached_s - clock->frontier_from_s,
                            now_s - clock->frontier_from_s);
        snprintf(text, sizeof text, "budgets of the frontier");
    }
    progress->report(progress->self, done, left_s, text);
}
