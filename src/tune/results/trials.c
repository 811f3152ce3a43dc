/* What trials have reached. */
#include "vbslab/tune.h"

#include <math.h>

bool vbs_trial_feasible(const struct vbs_search_trial *trial, int n_objectives, int n_constraints)
{
    if (trial->state != VBS_TRIAL_COMPLETE || !trial->objectives ||
        (n_constraints > 0 && !trial->constraints))
        return false;
    for (int i = 0; i < n_objectives; i++) {
        if (!isfinite(trial->objectives[i]))
            return false;
    }
    for (int i = 0; i < n_constraints; i++) {
        if (!isfinite(trial->constraints[i]) || trial->constraints[i] < 0)
            return false;
    }
    return true;
}

int vbs_trials_best(const struct vbs_search_trial *trials, int n_trials, int n_objectives,
                    int n_constraints)
{
    int best = -1;

    for (int i = 0; i < n_trials; i++) {
        if (vbs_trial_feasible(&trials[i], n_objectives, n_constraints) &&
            (best < 0 || trials[i].objectives[0] > trials[best].objectives[0]))
            best = i;
    }
    return best;
}
