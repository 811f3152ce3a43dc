/*
 * vbslab/turns.h - several schedules executed by turns, so that their times can be compared.
 *
 * A machine drifts: its clock rate, its caches and the memory that others use change within seconds
 * by more than schedules differ. So executors run by turns, A B C, B A C, ..., each once in each
 * turn and in an order that is shuffled anew. A change that is slower than a turn then changes all
 * times of a turn alike, and the ratio of two times of one turn does not show it.
 *
 * Statistics. Times are told by their median, with an interval between two order statistics
 * (measure.h), which shows drift too. Ratios are told by the median of the ratios in each turn,
 * with an interval of the same kind over these: it is exact for any distribution, as long as turns
 * do not depend on each other.
 *
 * States. The machine may be in another state than when times were predicted (cache_bytes_per_us
 * below). Where VBS_TURNS_MIN turns or more ran in the usual state, the others do not count.
 *
 * Threads: turns are immutable and may be shared; each call needs a context of its own. While
 * executors run, no other thread uses them.
 */
#ifndef VBSLAB_TURNS_H
#define VBSLAB_TURNS_H

#include "vbslab/exec.h"
#include "vbslab/measure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_TURNS_MIN     6 /* with fewer turns no interval covers a median with 95% */
#define VBS_TURNS_MAX     1000
#define VBS_TURNS_LIMIT_S 10

/* How long executors run by turns. Begin with {.struct_size = sizeof(struct vbs_turns_options)}: a
 * member that is 0 has the default that is named here. Threads: only read, may be shared. */
struct vbs_turns_options {
    size_t struct_size;  /* sizeof(struct vbs_turns_options) */
    double time_limit_s; /* no turn begins after this time; 0: VBS_TURNS_LIMIT_S */
    int min_turns;       /* so many turns are run, whatever the limit of time; 0: VBS_TURNS_MIN */
    int max_turns;       /* 0: VBS_TURNS_MAX, or min_turns where that is more */
    /* Turns end early when, of each executor, half of the interval of its ratio to executor 0 is
     * below this share of the ratio; 0: they do not. */
    double until;
    uint64_t seed; /* decides the order within each turn */
    /* The speed of the last-level cache in the usual state (struct vbs_speed), such as that of the
     * profile; it is measured in each turn. 0: not known, and all turns count as usual. */
    double cache_bytes_per_us;
    struct vbs_progress progress;
};

/* The times of executors that ran by turns. Freed by vbs_turns_free. */
struct vbs_turns {
    int n;                  /* executors */
    int n_turns;            /* complete turns, in the order in which they were run */
    const double *times_us; /* [n_turns][n], of a whole request */
    const bool *unusual;    /* [n_turns] the last-level cache was slower or faster than usual; null:
                               in no turn */
};

/* Returns the number of turns in another state than the usual one. O(n_turns). */
int vbs_turns_unusual(const struct vbs_turns *turns);

/* Returns the number of turns that count, in the statistics below: all turns, or those in the usual
 * state where they are VBS_TURNS_MIN or more. O(n_turns). */
int vbs_turns_counted(const struct vbs_turns *turns);

/*
 * Runs executors by turns, after one run of each that does not count. They run on the inputs that
 * vbs_exec_run has without any, their outputs are dropped, and the system is not asked for memory
 * (vbs_exec_set_times_only). The limit of time includes the first runs. *turns is freed by
 * vbs_turns_free; options may be null.
 * VBS_USAGE: n is below 1, or an option is out of range. VBS_INTERRUPTED: ctx->cancel was set.
 * VBS_NO_MEMORY, and errors of vbs_exec_run.
 */
enum vbs_status vbs_turns_run(struct vbs_ctx *ctx, int n, struct vbs_exec *const *execs,
                              const struct vbs_turns_options *options,
                              struct vbs_turns **turns) VBS_MUST_CHECK;
/* Frees turns; null is allowed. */
void vbs_turns_free(struct vbs_turns *turns);

/* Computes the median of the times of one executor, 0..n-1, and its interval, from the turns that
 * count: fills time_us, mad_us, low_us, high_us, n_runs of *row (vbs_measure_summary).
 * VBS_NO_MEMORY. O(n_turns log n_turns). */
enum vbs_status vbs_turns_summary(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  struct vbs_profile_row *row) VBS_MUST_CHECK;

/* The ratio of the times of two executors, and its interval. Threads: a plain value. */
struct vbs_turns_ratio {
    double ratio, low, high;
};

/*
 * Computes how many times as long executor which takes as executor over: the median of the ratios
 * in each turn that counts, on a logarithmic scale, so that the ratio of over to which is exactly
 * the inverse; and its interval. Exactly 1 for an executor over itself; NAN where a time is 0.
 * VBS_NO_MEMORY. O(n_turns log n_turns).
 */
enum vbs_status vbs_turns_compare(struct vbs_ctx *ctx, const struct vbs_turns *turns, int which,
                                  int over, struct vbs_turns_ratio *ratio) VBS_MUST_CHECK;

/* Computes how many times as long as in the turns that count executors take in the others: *times
 * is the mean over the executors of the ratios of their medians; 0 where all turns count.
 * VBS_NO_MEMORY. O(n x n_turns log n_turns). */
enum vbs_status vbs_turns_slowdown(struct vbs_ctx *ctx, const struct vbs_turns *turns,
                                   double *times) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
