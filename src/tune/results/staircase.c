/* Points of a plane that do not dominate each other. */
#include "tune/results/staircase.h"

#include <stddef.h>
#include <string.h>

/* Gives the number of points with an x above that of a point. */
static int before(const struct tune_staircase *staircase, double x)
{
    int low = 0, high = staircase->n;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (staircase->steps[middle].x > x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool vbs_tune_staircase_dominates(const struct tune_staircase *staircase, struct tune_step point,
                                  bool equal)
{
    int at = before(staircase, point.x);

    if (at > 0 && staircase->steps[at - 1].y >= point.y)
        return true;
    if (at == staircase->n || staircase->steps[at].x != point.x)
        return false;
    return staircase->steps[at].y > point.y || (equal && staircase->steps[at].y == point.y);
}

double vbs_tune_staircase_add(struct tune_staircase *staircase, struct tune_step point, double x0,
                              double y0)
{
    int at = before(staircase, point.x), end = at;
    struct tune_step *steps = staircase->steps;
    double floor = at > 0 ? steps[at - 1].y : y0, right = point.x, area = 0;

    /* The new area is cut where the staircase below it changes its height. */
    for (; end < staircase->n && steps[end].y <= point.y; end++) {
        area += (right - steps[end].x) * (point.y - floor);
        right = steps[end].x;
        floor = steps[end].y;
    }
    area += (right - (end < staircase->n ? steps[end].x : x0)) * (point.y - floor);
    memmove(steps + at + 1, steps + end, sizeof *steps * (size_t)(staircase->n - end));
    steps[at] = point;
    staircase->n += 1 - (end - at);
    return area;
}
