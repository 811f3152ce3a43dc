#include "schedule/same_steps.h"

#include <string.h>

/* Compares two steps; loads and evictions have no algorithm. */
static bool is_same_step(const struct vbs_schedule *a, const struct vbs_step *s,
                         const struct vbs_schedule *b, const struct vbs_step *t)
{
    return s->op == t->op && s->layer == t->layer && s->batch == t->batch && s->slice == t->slice &&
           s->n_slices == t->n_slices && s->format == t->format && s->resident == t->resident &&
           s->bytes == t->bytes && s->row == t->row && s->rows == t->rows &&
           s->window == t->window &&
           (s->op != VBS_STEP_COMPUTE ||
            strcmp(a->algorithms[s->algorithm], b->algorithms[t->algorithm]) == 0);
}

bool vbs_schedule_same_steps(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    if (a->n_steps != b->n_steps)
        return false;
    for (int64_t i = 0; i < a->n_steps; i++)
        if (!is_same_step(a, &a->steps[i], b, &b->steps[i]))
            return false;
    return true;
}
