/*
 * vbslab/report.h - comparisons of planners, as table, JSON, CSV and plot; replays and runs as
 * pictures; pages in HTML that show all of it.
 *
 * Threads: a comparison is immutable and may be shared; each call needs a context of its own.
 */
#ifndef VBSLAB_REPORT_H
#define VBSLAB_REPORT_H

#include "vbslab/exec.h"
#include "vbslab/measure.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"
#include "vbslab/sensitivity.h"
#include "vbslab/units.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The percentage by which a sample takes less time than with a baseline, and its 95% interval. All
 * three are NAN where the baseline is infeasible; the ends of the interval are NAN also where one
 * of the times has no interval. Threads: a plain value. */
struct vbs_gain {
    double percent, low_percent, high_percent;
};

/* The result of comparing the time of a row with the fastest time at its budget, given the noise of
 * the measurement. */
enum vbs_noise_verdict {
    VBS_NOISE_UNKNOWN, /* one of the times has no interval, or the row is not feasible */
    VBS_NOISE_CLEAR,   /* the difference is larger than the noise */
    /* The 95% interval of the difference holds 0. The fastest row has this verdict when some other
     * row has it; rows that run the same steps as the fastest share the fastest's. */
    VBS_NOISE_WITHIN,
};

/* The result of one planner at one budget. Where `feasible` is false, all numbers except
 * memory_bytes, least_bytes, least_latency_us and estimated are 0 and mean nothing; where `missing`
 * is true, memory_bytes and planner alone mean something. Times come from the replay
 * of the schedule, not from the planner, unless `estimated` is true. Threads: a row is part of its
 * comparison, immutable, and may be shared. */
struct vbs_compare_row {
    int64_t memory_bytes;
    const struct vbs_planner *planner;
    bool feasible;
    double per_sample_us;
    double samples_per_s;
    int64_t peak_bytes;
    struct vbs_gain gain_over_fbs, gain_over_fbs_best;
    struct vbs_gain gain_over_mmcnn, gain_over_vdnn; /* NAN also where these were not compared */
    enum vbs_noise_verdict noise;
    double gap_percent;       /* how far the time lies above the lower bound: the bound of its own
                                 plan where the profile judges itself, else the judge's; 0 where the
                                 bound is 0 */
    int max_batch, min_batch; /* the largest and the smallest batch of all steps */
    int n_coded;              /* layers that are computed from coded weights, all or some samples */
    double latency_us;        /* the longest wait of a sample, by the judge's times */
    double plan_us;           /* wall-clock time of the planning; one solve for all budgets is
                                 divided among them */
    int64_t least_bytes;     /* the least budget at which this planner is feasible; 0: not known, of
                                a planner from outside; INT64_MAX: no
                                budget is, because of the bound on the latency, or
                                because the planner needs copies of weights, of
                                which the profile has none */
    double least_latency_us; /* where least_bytes is INT64_MAX: the least bound on the latency that
                                the planner keeps in some budget; else, and where
                                this is not known, 0 */
    /* The next three are 0 unless weights are included; they are of the whole request, by the
     * judge's times. */
    double copy_us;         /* time that the loads of streamed weights take */
    int64_t copied_bytes;   /* bytes of these loads */
    int64_t resident_bytes; /* bytes of the weights that stay resident */
    bool missing;           /* the comparison was interrupted before this row was finished */
    bool estimated; /* the planner has no schedules: the numbers are its own, by the times of the
                       profile that was planned on; gap_percent is NAN */
};

/* The source of the 95% intervals. */
enum vbs_intervals {
    VBS_INTERVALS_NONE, /* there are none: the times are modelled, or rows lack low_us, high_us */
    VBS_INTERVALS_ROWS, /* the 95% interval of each row's median, as a CSV file has it */
    VBS_INTERVALS_SAMPLES, /* the samples of the rows */
};

/* The schedule of one planner at one budget, executed by turns beside those of the others
 * (turns.h). Where n_turns is 0 it was not executed, and the other members mean nothing. Threads: a
 * plain value. */
struct vbs_executed_row {
    int n_turns;   /* that count */
    int n_unusual; /* of these, those in another state of the machine than the judge's profile */
    /* Turns in another state that do not count, and the times of all executors there as a multiple
     * of those above; both 0: there are none. Where turns are left out, n_unusual is 0. */
    int n_left_out;
    double slowdown;
    double per_sample_us, low_us, high_us; /* the median of the turns, and its 95% interval */
    double predicted_us; /* for each sample, of the schedule that was executed: it is another one
                            than in the comparison where that one could not be placed */
    /* The 95% interval of predicted_us, by the times that were planned on (vbs_schedule_interval);
     * NAN: not known, as where another profile judged. */
    double predicted_low_us, predicted_high_us;
    /* Over the executed schedules of these baselines, from the ratios within each turn. All three
     * members are exactly 0 where both are one schedule, and NAN where the baseline was not
     * executed. */
    struct vbs_gain gain_over_fbs, gain_over_fbs_best;
};

/* The execution of the schedules of a comparison. Threads: immutable, may be shared. */
struct vbs_compare_executed {
    double seconds;                      /* for all of it, as the user asked for; 0: not known */
    const struct vbs_executed_row *rows; /* [n_budgets][n_planners] of the comparison */
};

/* A comparison of planners over budgets. It owns all that it points to, except the planners and
 * what was executed, and is freed by vbs_compare_free. Threads: immutable, may be shared. */
struct vbs_compare {
    int64_t profile_id; /* number in the store, which the caller sets; vbs_compare_run leaves it
                           0 */
    int64_t judge_id;   /* number in the store of the profile that judged */
    const char *model;
    int64_t request; /* samples */
    enum vbs_io io;
    double latency_bound_us; /* the problem's bound on the latency; 0: none */
    enum vbs_weights weights;
    struct vbs_link copy;       /* the problem's link; {0} where weights are excluded */
    int64_t weight_bytes;       /* of all layers of the profile that was planned on, whatever the
                                   packing */
    int64_t least_weight_bytes; /* the same with the smallest coded weights of each layer */
    /* The provenance of the profile that was planned on and of the one that judged, and their
     * content hashes. self_judged is true where both have the same rows. */
    struct vbs_provenance provenance, judge;
    char hash[VBS_PROFILE_HASH_SIZE], judge_hash[VBS_PROFILE_HASH_SIZE];
    bool self_judged;
    bool has_coded; /* the profile that was planned on has algorithms on coded weights */
    enum vbs_intervals intervals;
    int n_budgets, n_planners;
    const int64_t *budgets; /* ascending */
    /* [n_budgets] the highest proven lower bound of the time of the whole request; HUGE_VAL: no
     * plan gives one. */
    const double *bound_us;
    const struct vbs_planner *const *planners;
    const struct vbs_compare_row *rows; /* [n_budgets][n_planners] */
    bool interrupted; /* there are no intervals, and rows that are `missing` were not finished */
    const struct vbs_compare_executed *executed; /* borrowed, which the caller sets; null: nothing
                                                    was executed, and no text or picture says
                                                    anything of it */
};

/* True where the planner can plan with weights excluded or included, as `weights` says. A planner
 * that streams weights plans only with weights included, one that estimates only with weights
 * excluded. */
bool vbs_compare_can(const struct vbs_planner *planner, enum vbs_weights weights);

/* Is called for each budget of a planner, in ascending order: with its schedule after it was
 * judged, or with null where the planner has none, and with its row, of which gains and noise are
 * not known yet. Both are valid only during the call. A failure ends the comparison and is its
 * result. */
typedef enum vbs_status vbs_compare_watcher(struct vbs_ctx *ctx, void *self,
                                            const struct vbs_compare_row *row,
                                            const struct vbs_schedule *schedule);

/* How to compare; members that are 0 or null give the defaults. All that it points to is borrowed
 * during the call. Threads: only read, may be shared unless its samples or progress may not. */
struct vbs_compare_options {
    size_t struct_size; /* sizeof(struct vbs_compare_options) */
    /* The profile by whose times schedules are judged; null: the problem's profile. A second,
     * independent profile shows how much of a gain comes from choosing among noisy numbers. */
    const struct vbs_profile *judge;
    /* The samples of the profile that judges; null: there are none. */
    const struct vbs_sample_source *samples;
    const struct vbs_byte_range *budgets;      /* null: the default budgets of vbs_compare_run */
    const struct vbs_planner *const *planners; /* null: those of vbs_planner_is_compared */
    int n_planners;
    double time_limit_s; /* at each budget: of planner optimal, 0: VBS_COMPARE_TIME_LIMIT_S; of
                            planners from outside, 0: VBS_OUTSIDE_TIME_S */
    struct vbs_progress progress;
    int64_t
        node_limit; /* the two members of vbs_solver_options of this name, for planner optimal */
    uint64_t seed;
    vbs_compare_watcher *watch; /* null: nobody watches */
    void *watching;             /* the watcher's self */
};

#define VBS_COMPARE_TIME_LIMIT_S 1

/*
 * Runs planners over budgets. `options` may be null. Where both planners and budgets are the
 * default ones, the search for budgets and the comparison share their solvers. Schedules are
 * planned on the problem's profile and judged by replay on the judge's profile; copies take the
 * judge's time from the problem's source where the judge has that source. Lower bounds and gaps are
 * the judge's too. Gains over fbs and fbs-best are always computed, whether or not these planners
 * are among those compared; gains over mmcnn and vdnn only where these are.
 *
 * The default budgets are those of vbs_compare_default_budgets. With weights included they are
 * about 25 round budgets in even ratios, from the least that any of the planners needs (to a
 * hundredth of its unit) to twice the weights.
 *
 * Intervals show the noise of the judge's times while the plans stay as they are. In each of 999
 * draws the median of every row is drawn anew from its samples (or from its own interval), and is
 * the same for all schedules that use the row. Where weights are copied, the clocks of computing
 * and of copying run anew with these times; the times of the link are taken as exact. The 95%
 * interval goes from the 25th smallest to the 25th largest gain. The same judge gives the same
 * intervals to the byte, whatever else is compared.
 *
 * The intervals leave out two effects. The first is what differs from one run of the measurement to
 * the next on the same machine: on nine pairs of profiles, 81% of the gains (40 to 100% by network)
 * lie in the interval that the other run gives, where noise within one run alone would leave 83%
 * (experiments/noise). The second is chance where the profile judges itself: planners choose the
 * times that came out low, so that these gains are 0.4 points too high on average. A second profile
 * as judge removes the second effect.
 *
 * A comparison that is interrupted gives the rows that are finished by then, without intervals;
 * `interrupted` is set in it, and `missing` in the other rows. A row whose search was cut short is
 * not finished. VBS_INTERRUPTED: no row is finished.
 *
 * VBS_USAGE: there is no planner, the range is empty or has more than VBS_MAX_BUDGETS budgets, or
 * vbs_solver_new refuses the problem. VBS_INVALID: the judge is of another network, lacks an
 * algorithm or a batch that a plan uses, or the samples are not its own. VBS_INFEASIBLE: default
 * budgets are requested, and because of the bound on the latency no budget is feasible.
 * VBS_OVER_BUDGET: a schedule breaks its budget or its latency in the replay, which is an error of
 * the planner unless the judge counts other workspaces; the latency is checked only where the
 * profile judges itself. VBS_NO_MEMORY, and errors of the samples.
 */
enum vbs_status vbs_compare_run(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                const struct vbs_compare_options *options,
                                struct vbs_compare **compare) VBS_MUST_CHECK;
/* Frees a comparison; null is allowed. */
void vbs_compare_free(struct vbs_compare *compare);

/* Finds a range of about 25 budgets in round steps (1, 2, 5, 10, ... bytes, KiB, MiB, ...), from
 * the least that any planner needs to the least with which the fastest plan, or one within a
 * thousandth of it, is reached. Planner optimal is left out, because its results depend on how far
 * it gets in its time limit. Every other planner plans about ten times. Errors are those of
 * vbs_compare_run, and VBS_USAGE with weights included, whose default budgets are no range. */
enum vbs_status vbs_compare_default_budgets(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                            struct vbs_byte_range *budgets) VBS_MUST_CHECK;

/*
 * Each of these functions writes comparisons as a text that ends with a newline and that the caller
 * frees with free(). The only error is VBS_NO_MEMORY.
 *
 * The table is for people. Its lines have at most `columns` characters (0 stands for 100, and
 * numbers below 40 for 40); control characters in names are made visible; `colour` adds ANSI
 * sequences. JSON is always one object with all comparisons in its array "profiles"; the keys of a
 * single comparison also stand beside that array. CSV has the same fields, and repeats the outer
 * ones in each line. Numbers in JSON and CSV are exact. A number that is not known is null or
 * empty, and so are all results of an infeasible row. Rows that are missing are left out.
 */
enum vbs_status vbs_compare_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                  int columns, bool colour, char **text) VBS_MUST_CHECK;
/* The executed schedules of a comparison that has some: for each budget and planner the time
 * predicted and executed, and the executed gains over the executed baselines. The last paragraph
 * says at which budgets a planner is faster than fbs-best, by the 95% interval of its gain, and
 * where the machine cannot tell. Other than in vbs_compare_table the text is empty where nothing
 * was executed. */
enum vbs_status vbs_compare_executed_table(struct vbs_ctx *ctx, const struct vbs_compare *compare,
                                           int columns, bool colour, char **text) VBS_MUST_CHECK;
/* The comparisons as one JSON object. */
enum vbs_status vbs_compare_json(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, char **text) VBS_MUST_CHECK;
/* The comparisons as CSV, a line for each planner at each budget. */
enum vbs_status vbs_compare_csv(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                int n_compares, char **text) VBS_MUST_CHECK;

/*
 * How a picture is drawn; members that are 0 or null give the defaults. All that it points to is
 * borrowed during the call. Threads: only read, may be shared.
 */
struct vbs_plot_options {
    size_t struct_size; /* sizeof(struct vbs_plot_options) */
    /* The size of the picture, both or none of them: 0.5 to 100 inches, or pixels, of which an SVG
     * has 100 an inch and a PNG 300. */
    double width, height;
    bool in_pixels;
    const char *font;   /* its name; in pictures for LaTeX, one of LaTeX's families, such as phv */
    double font_points; /* of the text, as printed at the picture's size; 0: 8.3 */
    /* The series to draw; null: all. Their names, as data and key have them: planners and "bound",
     * groups, parameters and objectives of a study, what memory is made of. */
    const char *const *series;
    int n_series;
    bool with_data; /* also write the numbers, as PATH.csv, and a script for gnuplot, PATH.gp */
};

/*
 * Draws throughput against memory, with one panel for each comparison, one curve for each planner,
 * and the limit that the lower bound sets (series "bound"). Executed schedules are drawn as bars
 * from the low to the high end of their 95% interval. With weights included the axis of memory is
 * logarithmic, and the size of all weights is marked on it. `options` may be null. The ending of
 * `path` (.svg, .png, .pdf or .tex) chooses the format; the file is written whole or not at all. A
 * picture for LaTeX has its lines in a file beside it that ends in .pdf, and needs the packages
 * graphicx and color. gnuplot draws in files without names under $TMPDIR; no name of a model or a
 * file becomes part of a command.
 *
 * VBS_USAGE: the path has another ending, a series is none of the picture's (the detail names the
 * nearest), or the size has no room for the picture. VBS_INFEASIBLE: no planner is feasible at any
 * budget; the detail names the least budget. VBS_UNSUPPORTED: gnuplot is not installed.
 * VBS_LIBRARY: gnuplot failed; the detail has its reason. VBS_IO, VBS_INTERRUPTED, VBS_NO_MEMORY.
 */
enum vbs_status vbs_compare_plot(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, const struct vbs_plot_options *options,
                                 const char *path) VBS_MUST_CHECK;

/*
 * Draws the frontiers of planners for one problem, exactly: throughput as a step function of
 * memory, one curve for each planner, and the limit that vbs_bound_us sets for all budgets of a
 * step (series "bound"). Formats, options and other errors are those of vbs_compare_plot;
 * VBS_UNSUPPORTED also where no plan takes time. O(breakpoints) bounds.
 */
enum vbs_status vbs_frontier_plot(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                  const struct vbs_planner *const *planners,
                                  const struct vbs_frontier *const *frontiers, int n_frontiers,
                                  const struct vbs_plot_options *options,
                                  const char *path) VBS_MUST_CHECK;

/*
 * A page is one HTML file that shows profiles with the plans of all planners, without anything from
 * outside (docs/report.md). It has the comparison of each profile, and the plan of each planner for
 * every budget: a planner without a limit of time has few different plans, whose budgets are found
 * to the byte; the plans of the others are those of the comparison. Every plan is replayed.
 *
 * A page keeps at most VBS_PAGE_STEPS steps. Where a planner has more than its share of them, some
 * of its plans are left out, and the page says so.
 */
struct vbs_page;

#define VBS_PAGE_STEPS 8000000

/* What a page says of itself. Texts are copied; null is the same as empty. Threads: only read, may
 * be shared. */
struct vbs_page_options {
    size_t struct_size;  /* sizeof(struct vbs_page_options) */
    const char *command; /* the command that makes the page again */
    const char *vbslab;  /* the build; null: vbs_version() */
    int n_profiles;      /* how many will be added; 0: 1. They share the steps of the page evenly */
};

/* Makes a page without profiles; `options` may be null. Threads: a page belongs to one thread.
 * VBS_USAGE, VBS_NO_MEMORY. */
enum vbs_status vbs_page_new(struct vbs_ctx *ctx, const struct vbs_page_options *options,
                             struct vbs_page **page) VBS_MUST_CHECK;
/* Frees a page; null is allowed. */
void vbs_page_free(struct vbs_page *page);

/*
 * Compares the planners as vbs_compare_run does, plans, and adds the profile of the problem, which
 * is not borrowed beyond the call. The ids are those of the profiles in the store, 0 where they are
 * in none. options->watch is not used. After a failure the page is as before. Where the problem is
 * too large for some of the planners, the page is made without them and says so.
 *
 * Errors are those of vbs_compare_run, VBS_INTERRUPTED also where the comparison is not finished.
 * O(plans x steps) beside the planners.
 */
enum vbs_status vbs_page_add(struct vbs_ctx *ctx, struct vbs_page *page,
                             const struct vbs_problem *problem,
                             const struct vbs_compare_options *options, int64_t profile_id,
                             int64_t judge_id) VBS_MUST_CHECK;

/* A run that was executed: its schedule, when each of its steps began and ended, and its memory.
 * Immutable, may be shared between threads; freed by vbs_page_run_free. */
struct vbs_page_run;

/* Reads the file that `vbslab run --json --steps` writes ("-": standard input). It is untrusted:
 * VBS_FORMAT names what is wrong with it. VBS_IO, VBS_NO_MEMORY. O(length of the file). */
enum vbs_status vbs_page_run_read(struct vbs_ctx *ctx, const char *path,
                                  struct vbs_page_run **run) VBS_MUST_CHECK;
/* Frees a run; null is allowed. */
void vbs_page_run_free(struct vbs_page_run *run);

/* Gives the content hash (vbs_profile_hash) of the profile that the run was planned on. It belongs
 * to the run. */
const char *vbs_page_run_hash(const struct vbs_page_run *run);
/* Gives whether this is that profile. */
bool vbs_page_run_is_of(const struct vbs_page_run *run, const struct vbs_profile *profile);

/* Replays the schedule of a run on its profile, which is the one that was added last, and shows it
 * beside what was planned. VBS_INVALID: the schedule does not belong to the profile. VBS_USAGE: the
 * page has no profile. VBS_NO_MEMORY. After a failure the page is as before. O(steps). */
enum vbs_status vbs_page_add_run(struct vbs_ctx *ctx, struct vbs_page *page,
                                 const struct vbs_profile *profile,
                                 const struct vbs_page_run *run) VBS_MUST_CHECK;

/* Writes the page to a path, whole or not at all; "-" is standard output. VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_page_write(struct vbs_ctx *ctx, const struct vbs_page *page,
                               const char *path) VBS_MUST_CHECK;

/*
 * Draws a replay over time: one lane for computing, coloured by layer, with weights included
 * another lane for copying, and below them the memory in use. Every step is a box of its own, with
 * the name of its layer, or "#" and its number, and its batch where they have space. Where there
 * are more than 4000 boxes or levels of memory, the picture is cut into 4000 slices of time, each
 * of which shows the step that takes most of it and the most memory in use during it. The replay
 * must have its trace. Series are weights, tensors, workspace and budget. Formats, options and
 * errors are those of vbs_compare_plot; VBS_USAGE also where there is no trace, VBS_UNSUPPORTED
 * where no step takes time.
 */
enum vbs_status vbs_replay_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_schedule *schedule,
                                const struct vbs_replay *replay,
                                const struct vbs_plot_options *options,
                                const char *path) VBS_MUST_CHECK;

/*
 * These two functions show a run of a schedule beside its replay; both must have their traces.
 *
 * vbs_executed_write_csv writes one row for each step (step,op,layer,name,batch,part,parts,
 * planned_start_us,planned_end_us,start_us,end_us, and of the profile hash,backend,library,device,
 * threads,modelled,profile); loads and evictions have no batch, and the path "-" is standard
 * output. vbs_executed_plot draws the lanes of the replay, below them those of the run over the
 * same axis, and the memory in use during the run. A gap between two steps of at most a thousandth
 * of the run is drawn as part of the second step.
 *
 * VBS_USAGE: the replay or the run has no trace. VBS_INVALID: their numbers of steps differ. Other
 * errors are those of vbs_replay_write_csv and vbs_replay_plot.
 */
enum vbs_status vbs_executed_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                       const struct vbs_schedule *schedule,
                                       const struct vbs_replay *replay,
                                       const struct vbs_exec_report *executed,
                                       const char *path) VBS_MUST_CHECK;
/* Draws the run beside its replay. */
enum vbs_status vbs_executed_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                  const struct vbs_schedule *schedule,
                                  const struct vbs_replay *replay,
                                  const struct vbs_exec_report *executed,
                                  const struct vbs_plot_options *options,
                                  const char *path) VBS_MUST_CHECK;

/*
 * These two functions write a replay, and a run beside its replay, as Chrome trace events in JSON
 * (docs/formats.md), which Perfetto and chrome://tracing open; the traces must be there. Replay and
 * run are processes of their own. Each has a thread of compute steps and, with weights included,
 * one of loads and evictions, and counters of the memory in use and of the budget. Times are
 * rounded to nanoseconds. The file is written piece by piece and appears when it is complete, but
 * for "-" (standard output), pipes and devices.
 *
 * VBS_USAGE: the replay or the run has no trace. VBS_INVALID: their numbers of steps differ.
 * VBS_UNSUPPORTED: the schedule takes longer than 9e15 us. VBS_IO, VBS_INTERRUPTED, VBS_NO_MEMORY.
 * O(steps) time; memory O(1), but O(steps) where the file cannot be replaced.
 */
enum vbs_status vbs_replay_write_events(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                        const struct vbs_schedule *schedule,
                                        const struct vbs_replay *replay,
                                        const char *path) VBS_MUST_CHECK;
/* Writes the run beside its replay. */
enum vbs_status vbs_executed_write_events(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                          const struct vbs_schedule *schedule,
                                          const struct vbs_replay *replay,
                                          const struct vbs_exec_report *executed,
                                          const char *path) VBS_MUST_CHECK;

/*
 * Draws accuracy against the share of channels that is removed, with a curve for each group that
 * has points; a second panel shows accuracies behind retraining where the points have them. name is
 * the title. A band marks what a range of vbs_sensitivity_propose with this fall may lose. Series
 * are the names of groups.
 *
 * VBS_USAGE: no point of the whole network, no point of a group, or the path has another ending.
 * Other errors and formats are those of vbs_compare_plot.
 */
enum vbs_status vbs_sensitivity_plot(struct vbs_ctx *ctx, const char *name,
                                     const struct vbs_prune_groups *groups,
                                     const struct vbs_sensitivity_point *points, int n_points,
                                     double fall, const struct vbs_plot_options *options,
                                     const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
