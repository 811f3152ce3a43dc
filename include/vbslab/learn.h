/*
 * vbslab/learn.h - learning from execution: plans are executed by turns, the times of their steps
 * correct the profile, and plans are made anew from it until they stand.
 *
 * A plan is the least of very many sums of measured times. Where times are noisy, or kernels take
 * longer in schedules than alone, the sum that looks least is one that is too low, and the plan may
 * be no faster than one batch for all layers. So a few plans of different kinds are executed: the
 * planner's, and always that of a baseline. What their steps take becomes part of the profile
 * (posterior.h). The next plan is then made of kernels that were seen in schedules, or of others
 * that are faster even so, and stands once planning anew leads to a plan that has been executed.
 * The fastest executed schedule is the answer, whatever its planner.
 *
 * The baseline is fbs-best, the fastest uniform batch. With weights included it is the fastest of
 * fbs-best, which keeps all weights resident and needs the most memory, vdnn, which loads them
 * layer by layer for a uniform batch, and mmcnn, which loads them in slices for one sample after
 * the other. The profile says which of them is the fastest in a budget; where it says otherwise
 * once it is corrected, that one is executed too. A budget in which none of them can be placed has
 * no baseline, and its answer is the planner's.
 *
 * With weights included, steps tell how long they would have taken if nothing had been loaded
 * beside them, by the factors of the profile's link (struct vbs_link): those of the layer for the
 * time in which loads really ran. What is taken off makes a time uncertain. Where the link has no
 * factors, steps beside loads tell nothing. Waits for loads are no part of any step, and the copies
 * of the profile stay as they are.
 *
 * A device is not waited for between steps, which would make requests longer. The time of a request
 * is divided among its steps as the profile divides it, and these times are uncertain, more so
 * where the request took longer or shorter than the profile says. With weights included a device
 * cannot learn: what of a request was waiting for loads is not known.
 *
 * Rows that were never executed take longer in the learned profile, by as much as new plans took
 * longer than predicted for the share of their time that was of such rows: planners choose the rows
 * that look too fast.
 *
 * Executions of different schedules take turns, in an order that changes at random, so that drifts
 * of the machine meet all alike; they are compared by the ratios of their times within each turn.
 * In turns in which the last-level cache is slower or faster than when the profile was measured,
 * the machine is in another state: such turns decide which schedule is faster, but correct times
 * only where there are few others.
 *
 * Threads: the arguments are only read. The result is immutable and may be shared.
 */
#ifndef VBSLAB_LEARN_H
#define VBSLAB_LEARN_H

#include "vbslab/backend.h"
#include "vbslab/plan.h"
#include "vbslab/posterior.h"
#include "vbslab/progress.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_LEARN_REQUEST 12 /* samples */
/* Budgets that are chosen where none are given. As long as there is time, and first plans of the
 * last ones turned out slower than what was found then, more follow. */
#define VBS_LEARN_BUDGETS      4
#define VBS_LEARN_MOST_BUDGETS 12

/* The options of learning. Begin with {.struct_size = sizeof(struct vbs_learn_options)}: a member
 * that is 0 or null has the default that is named here. */
struct vbs_learn_options {
    size_t struct_size;  /* sizeof(struct vbs_learn_options) */
    double time_limit_s; /* of the whole; 0: 20. Each budget gets three turns, whatever the limit */
    /* Each budget is done once half of the 95% interval of the answer's time, and of its ratio to
     * the baseline's, is below this share of it. 0: once it is clear which of them is faster. */
    double until;
    int64_t request;    /* samples; 0: VBS_LEARN_REQUEST */
    enum vbs_io io;     /* 0: external */
    double latency_us;  /* longest wait of a sample (struct vbs_problem); 0: not bounded */
    bool whole_samples; /* no steps by rows */
    /* [n_budgets] bytes of arenas. 0: VBS_LEARN_BUDGETS to VBS_LEARN_MOST_BUDGETS of them, above
     * the planner's least and up to the one from which on more memory brings nothing. */
    int n_budgets;
    const int64_t *budgets;
    const struct vbs_planner *planner; /* of schedules; null: dp-vbs+; weights included: joint */
    int threads;                       /* that compute; 0: as the profile was measured */
    uint64_t seed;                     /* of the order of turns, and of plans that are drawn */
    const char *notes;                 /* of the learned profile; null: those of the profile */
    struct vbs_progress progress;
    enum vbs_weights weights; /* 0: VBS_WEIGHTS_EXCLUDED, outside the budgets */
    /* Weights included: the source of the copies in the profile that give the time of loads; null:
     * its first source. For a profile without copies all weights are resident. */
    const char *copy_source;
    /* Weights included, as in struct vbs_exec_options: where the files of packed weights are made
     * for the time of learning, and whether loads bypass the page cache. */
    const char *folder;
    bool direct;
};

/* What was learned of one budget. */
struct vbs_learned_budget {
    int64_t memory_bytes;
    bool tried;      /* there was time for this budget */
    int n_schedules; /* that were executed; 0: there was no time, or none fits; all below is 0 */
    int n_turns;     /* of the answer and the baseline together */
    struct vbs_schedule *schedule; /* the answer; its prediction is that of its planner. Owned */
    bool is_baseline;              /* the answer is a baseline's: nothing executed was faster */
    bool stands;                   /* planning on the learned profile gives an executed schedule */
    double first_predicted_us;     /* of the planner's first plan, before it was executed */
    /* The executed time of this plan over the answer's, in turns in which both ran; 1 where they
     * are the same schedule, NAN where it was not executed. */
    double first_ratio;
    /* Executed times of the request with 95% intervals of their medians: of the answer and of the
     * best schedule of the baselines. Not finite where no such schedule could be placed. */
    double time_us, low_us, high_us;
    double baseline_us, baseline_low_us, baseline_high_us;
    /* The answer's time over the baseline's, from turns in which both ran, with its 95% interval;
     * 1 where they are the same schedule, and never more. */
    double ratio, ratio_low, ratio_high;
    /* The planner of the best schedule of the baselines; null: none could be placed. */
    const struct vbs_planner *baseline;
};

/* The result of learning. Freed by vbs_learned_free. */
struct vbs_learned {
    /* With posterior times; the given one is unchanged. Where the last-level cache was slower or
     * faster in all turns than when the given one was measured, its times are those of this state
     * of the machine, and speed.cache_bytes_per_us says so. */
    struct vbs_profile *profile;
    struct vbs_posterior_report report;
    int n_schedules, n_runs; /* executed in all */
    int n_budgets;
    struct vbs_learned_budget *budgets; /* [n_budgets], as they were given, or ascending */
};

/*
 * Learns a profile of network on backend, which this machine must have. *learned is freed by
 * vbs_learned_free. A budget in which nothing can be placed is no failure, and schedules that the
 * backend cannot execute are left out. VBS_USAGE: an option is out of range; VBS_NOT_FOUND: the
 * profile has no copies from copy_source; VBS_UNSUPPORTED: the backend is modelled, or is a device
 * with weights included, or the planner gives estimates; as vbs_exec_new and vbs_solver_new
 * otherwise. VBS_INTERRUPTED.
 */
enum vbs_status vbs_learn(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbs_backend *backend, const struct vbs_profile *profile,
                          const struct vbs_learn_options *options,
                          struct vbs_learned **learned) VBS_MUST_CHECK;

/* Frees a result with its profile and schedules; null is allowed. */
void vbs_learned_free(struct vbs_learned *learned);

#ifdef __cplusplus
}
#endif
#endif
