/*
 * vbslab/report.h - comparisons of planners, as table, JSON, CSV and plot; replays and runs as
 * pictures.
 *
 * Threads: a comparison is immutable and may be shared; each call needs a context of its own.
 */
#ifndef VBSLAB_REPORT_H
#define VBSLAB_REPORT_H

#include "vbslab/exec.h"
#include "vbslab/measure.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"
#include "vbslab/units.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Percent less time per sample than a baseline takes, with its 95% interval: NAN where the baseline
 * is infeasible, and the ends also where some time has no interval. */
struct vbs_gain {
    double percent, low_percent, high_percent;
};

/* How a row's time stands to the fastest of its budget, as far as noise lets see. */
enum vbs_noise_verdict {
    VBS_NOISE_UNKNOWN, /* some time has no interval, or the row is not feasible */
    VBS_NOISE_CLEAR,
    /* The 95% interval of the difference holds 0. The fastest row has this verdict when some other
     * row has it; rows that run the same steps as the fastest share the fastest's. */
    VBS_NOISE_WITHIN,
};

/* One planner at one budget. Where it is not feasible all numbers but
 * memory_bytes and the least ones are 0, gap_percent too: a 0 there is no measurement, ask feasible
 * first. Times come from the replay of the schedule, not from the planner. */
struct vbs_compare_row {
    int64_t memory_bytes;
    const struct vbs_planner *planner;
    bool feasible;
    double per_sample_us;
    double samples_per_s;
    int64_t peak_bytes;
    struct vbs_gain gain_over_fbs, gain_over_fbs_best;
    struct vbs_gain gain_over_mmcnn, gain_over_vdnn; /* percent is NAN without them too */
    enum vbs_noise_verdict noise;
    double gap_percent;       /* above the lower bound that its plan has, where the profile judges
                                 itself; else above the judge's; 0 where that is 0 */
    int max_batch, min_batch; /* over the steps */
    double latency_us;        /* longest wait of a sample, by the judge */
    double plan_us;           /* wall clock of the planning; a solve for all budgets is divided
                                 among them */
    int64_t least_bytes;      /* the least budget at which this planner is feasible; INT64_MAX: none
                                 is, because of the latency */
    double least_latency_us;  /* then: the least bound that it keeps in some budget; else 0 */
    /* Weights included, of the request, by the judge: */
    double copy_us;         /* that loads take, residents' not counted */
    int64_t copied_bytes;   /* likewise */
    int64_t resident_bytes; /* of all resident loads */
};

/* What intervals come from. */
enum vbs_intervals {
    VBS_INTERVALS_NONE,    /* times are taken as exact: modelled, or without low_us, high_us */
    VBS_INTERVALS_ROWS,    /* the 95% interval of each row's median, as a CSV has it */
    VBS_INTERVALS_SAMPLES, /* the samples of the rows */
};

struct vbs_compare {
    int64_t profile_id; /* 0: not from the store; vbs_compare_run leaves it to the caller */
    int64_t judge_id;   /* likewise, of the profile that judged */
    const char *model;
    int64_t request;
    enum vbs_io io;
    double latency_bound_us; /* of the problem, 0: none */
    enum vbs_weights weights;
    struct vbs_link copy; /* of the problem; weights excluded: {0} */
    int64_t weight_bytes; /* of all layers of the profile planned on, whatever the packing */
    /* The profile planned on and the one that judged; self_judged when both hold the same rows. */
    struct vbs_provenance provenance, judge;
    char hash[VBS_PROFILE_HASH_SIZE], judge_hash[VBS_PROFILE_HASH_SIZE]; /* of their contents */
    bool self_judged;
    enum vbs_intervals intervals;
    int n_budgets, n_planners;
    const int64_t *budgets; /* ascending */
    /* [n_budgets] lower bound of the whole request, the best that a plan has; HUGE_VAL: none. */
    const double *bound_us;
    const struct vbs_planner *const *planners;
    const struct vbs_compare_row *rows; /* [n_budgets][n_planners] */
};

/* True of fbs, fbs-best and greedy-vbs, which VBS and COMP measure their planners against, and of
 * mmcnn and vdnn. */
bool vbs_compare_is_baseline(const struct vbs_planner *planner);

/* True where planner can plan with the weights there: one that transfers only with them included.
 */
bool vbs_compare_can(const struct vbs_planner *planner, enum vbs_weights weights);

/* True of the planners of a comparison that names none: all that can; with weights included fbs,
 * fbs-best and dp-vbs+ (all weights resident), mmcnn, vdnn and joint. */
bool vbs_compare_is_default(const struct vbs_planner *planner, enum vbs_weights weights);

/* How to compare; {0} gives the defaults. */
struct vbs_compare_options {
    size_t struct_size; /* sizeof(struct vbs_compare_options) */
    /* By whose times schedules are judged; null: the problem's profile. A second, independent one
     * tells how much of a gain is choosing among noisy numbers. */
    const struct vbs_profile *judge;
    /* Samples of the judge (of the problem's profile without one); null: none are kept. */
    const struct vbs_sample_source *samples;
    const struct vbs_byte_range *budgets;      /* null: the default ones, see below */
    const struct vbs_planner *const *planners; /* null: those of vbs_compare_is_default */
    int n_planners;
    double time_limit_s; /* of optimal, per budget; 0: VBS_COMPARE_TIME_LIMIT_S */
    struct vbs_progress progress;
};

#define VBS_COMPARE_TIME_LIMIT_S 1

/*
 * Runs planners over budgets (without options or null: the default ones of both, which then share
 * the solvers and cost little). Schedules are planned on the problem's profile and judged by replay
 * on the judge, with its copies from the problem's source where it has them; bounds and gaps are
 * the judge's too. Gains need the plans of fbs and fbs-best and make them when planners has them
 * not; those over mmcnn and vdnn are told where planners has these.
 *
 * Default budgets: those of vbs_compare_default_budgets; with weights included about 25 round ones
 * in even ratios, from the least that any of the planners needs (to a hundredth of its unit) to
 * twice the weights.
 *
 * Intervals show the noise of the judge's times, plans being what they are: in each of 999 draws
 * every row's median is drawn anew from its samples (or from its own interval), the same for all
 * schedules that run the row, and both clocks run anew where weights are copied (in the times of
 * the link, which are taken as exact); the 95% interval goes from the 25th smallest to the 25th
 * largest gain. The same judge gives the same intervals to the byte, whatever else is compared. Two
 * things are not in them. What differs from one run of the measurement to the next on the same
 * machine: of gains on nine pairs of profiles 81% (by network 40 to 100%) lie in the interval that
 * the other run gives, where noise within a run alone would leave 83% (experiments/noise). And
 * where the profile judges itself, luck: planners chose the times that came out low, by which those
 * gains are 0.4 points too high on average. A second profile as judge tells.
 *
 * VBS_USAGE: no planner, an empty range or more than VBS_MAX_BUDGETS, what vbs_solver_new refuses.
 * VBS_INVALID: judge is of another network, or lacks an algorithm or a batch that a plan uses, or
 * the samples are not its own. VBS_INFEASIBLE: default budgets are asked for and no budget helps,
 * because of the latency. VBS_OVER_BUDGET: a schedule breaks its budget or latency in the replay,
 * an error of the planner unless judge counts other workspaces; a latency only counts where the
 * profile judges itself. VBS_INTERRUPTED, VBS_NO_MEMORY, errors of samples.
 */
enum vbs_status vbs_compare_run(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                const struct vbs_compare_options *options,
                                struct vbs_compare **compare) VBS_MUST_CHECK;
void vbs_compare_free(struct vbs_compare *compare);

/* A range of about 25 budgets in round steps (1, 2, 5, 10, ... bytes, KiB, MiB, ...) from the least
 * that any planner needs to the least with which the fastest plan is reached, or one within a
 * thousandth of it. optimal has no say, for its answers depend on how far it gets in its time.
 * Plans some ten times with every other planner. Errors as vbs_compare_run; VBS_USAGE too with
 * weights included, whose default budgets are no range. */
enum vbs_status vbs_compare_default_budgets(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                            struct vbs_byte_range *budgets) VBS_MUST_CHECK;

/*
 * Forms of the same result; each gives a text to be freed, ending with a newline. Only
 * VBS_NO_MEMORY can happen.
 *
 * The table is for people: lines of at most `columns` characters (0: of 100; less than 40 counts as
 * 40), control characters of names made visible; colour adds ANSI sequences. JSON is always an
 * object, with all comparisons in its array "profiles"; where there is one only, its keys also
 * stand beside that array. CSV has the same fields, the outer ones repeated in each line. Numbers
 * there are exact; what is not known is null or empty, and so are all results of an infeasible row.
 */
enum vbs_status vbs_compare_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                  int columns, bool colour, char **text) VBS_MUST_CHECK;
enum vbs_status vbs_compare_json(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, char **text) VBS_MUST_CHECK;
enum vbs_status vbs_compare_csv(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                int n_compares, char **text) VBS_MUST_CHECK;

/*
 * Throughput against memory, one panel per comparison: every planner and the limit by the lower
 * bound; with weights included over a logarithmic axis on which the size of all weights is marked.
 * As .svg, .png or .pdf by the ending of path, written whole or not at all. Drawn by gnuplot
 * in a private folder under $TMPDIR; no name reaches a command line or a command.
 *
 * VBS_USAGE: another ending. VBS_INFEASIBLE: nothing fits anywhere, the detail names the least
 * budget. VBS_UNSUPPORTED: no gnuplot. VBS_LIBRARY: gnuplot failed, with its reason. VBS_IO,
 * VBS_INTERRUPTED, VBS_NO_MEMORY.
 */
enum vbs_status vbs_compare_plot(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, const char *path) VBS_MUST_CHECK;

/*
 * A replay over time: one lane for computing, coloured by layer, with weights included another for
 * copying, and what the budget holds meanwhile. Every step is a box of its own with its layer's
 * name and batch where they have room; where boxes are too many to see, a picture is cut into
 * slices of time, each with the layer that takes most of it and with the most memory that is held
 * in it. Needs the trace. Forms and errors as vbs_compare_plot; VBS_USAGE also without a trace,
 * VBS_UNSUPPORTED where nothing takes time.
 */
enum vbs_status vbs_replay_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule,
                                const struct vbs_replay *replay, const char *path) VBS_MUST_CHECK;

/*
 * A run of a schedule beside its replay, both with their traces: as CSV, one row per step
 * (step,op,layer,name,batch,part,parts,planned_start_us,planned_end_us,start_us,end_us; "-":
 * standard output; loads and drops have no batch), and as a picture: the lanes of the replay, below
 * them those of the run over the same axis, and what the budget held while it ran. What passes
 * between two steps, up to a thousandth of the run, is drawn as part of the next.
 *
 * VBS_USAGE: one of them has no trace. VBS_INVALID: their numbers of steps differ. Otherwise as
 * vbs_replay_write_csv and vbs_replay_plot.
 */
enum vbs_status vbs_executed_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                       const struct vbs_schedule *schedule,
                                       const struct vbs_replay *replay,
                                       const struct vbs_exec_report *executed,
                                       const char *path) VBS_MUST_CHECK;
enum vbs_status vbs_executed_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                  const struct vbs_schedule *schedule,
                                  const struct vbs_replay *replay,
                                  const struct vbs_exec_report *executed,
                                  const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
