/*
 * A planner from outside as a shared object (vbslab/planner.h): of all uniform batches, with the
 * fastest rows or with those of the least workspace, the fastest that fits. It is compiled by
 *     cc -shared -fPIC -o planner_so.so planner_so.c $(pkg-config --cflags vbslab)
 * and run by vbslab compare alexnet --planner so:./planner_so.so
 */
#include <vbslab/planner.h>

/* Adds the steps of a uniform batch; the rest of the request runs at batch 1. */
static bool add_steps(const struct vbs_planner_host *host, const struct vbs_problem *problem,
                      int batch_index, bool small)
{
    const struct vbs_profile *profile = problem->profile;
    host->clear(host);
    for (int64_t done = 0; done < problem->request;) {
        int index = problem->request - done < profile->batches[batch_index] ? 0 : batch_index;
        for (int k = 1; k <= profile->n_layers; k++) {
            int n, best = 0;
            const struct vbs_profile_row *rows = host->rows(host, profile, k, index, &n);
            for (int a = 1; a < n; a++)
                if (small ? rows[a].ws_bytes < rows[best].ws_bytes : rows[a].time_us < rows[best].time_us)
                    best = a;
            struct vbs_step step = {
                .layer = k, .batch = profile->batches[index], .algorithm = rows[best].algorithm};
            if (!host->add(host, &step))
                return false;
        }
        done += profile->batches[index];
    }
    return true;
}

static enum vbs_status plan(void *self, const struct vbs_planner_host *host,
                            const struct vbs_problem *problem, int64_t memory_bytes)
{
    int n = problem->profile->n_batches, best = -1;
    double best_us = 0, time_us;
    int64_t peak_bytes;
    (void)self;
    if (problem->weights == VBS_WEIGHTS_INCLUDED) {
        host->fail(host, "it knows nothing of weights");
        return VBS_UNSUPPORTED;
    }
    for (int i = 0; i < 2 * n && !host->stopped(host); i++)
        if (problem->profile->batches[i / 2] <= problem->request && add_steps(host, problem, i / 2, i % 2) &&
            host->replay(host, &time_us, &peak_bytes) && peak_bytes <= memory_bytes && (best < 0 || time_us < best_us)) {
            best = i;
            best_us = time_us;
        }
    if (best < 0)
        return VBS_INFEASIBLE;
    return add_steps(host, problem, best / 2, best % 2) ? VBS_OK : VBS_NO_MEMORY;
}

const struct vbs_planner_object vbslab_planner = {.struct_size = sizeof(struct vbs_planner_object),
                                                  .api_version = VBS_PLANNER_API,
                                                  .name = "uniform",
                                                  .summary = "the fastest uniform batch that fits",
                                                  .plan = plan};
