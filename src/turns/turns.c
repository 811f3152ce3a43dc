/* Runs subjects by turns. */
#include "turns/internal.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/options.h"
#include "base/random.h"
#include "exec/cache_watch.h"

#include <math.h>
#include <stdlib.h>

#define MOST_SUBJECTS 1000
#define MOST_TURNS    1000000

/* The turns so far. */
struct course {
    const struct vbs_turns_subjects *subjects;
    struct vbs_turns_options options;
    double *times_us; /* [n_turns][subjects->n] */
    bool *unusual;    /* [n_turns] */
    int64_t capacity, unusual_capacity;
    int n_turns;
    int n_judged; /* turns after which the intervals are computed again */
    int *order;   /* [subjects->n] */
    uint64_t state;
    double start_s;
};

static enum vbs_status read_options(struct vbs_ctx *ctx, const struct vbs_turns_options *options,
                                    struct vbs_turns_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_turns_options", options, own, sizeof *own));
    if (!(own->time_limit_s >= 0 && isfinite(own->time_limit_s)))
        return vbs_fail(ctx, VBS_USAGE, "a time limit of %g seconds", own->time_limit_s);
    if (!(own->until >= 0 && isfinite(own->until)))
        return vbs_fail(ctx, VBS_USAGE, "half an interval of %g of the ratio", own->until);
    if (own->min_turns < 0 || own->max_turns < 0 || own->min_turns > MOST_TURNS ||
        own->max_turns > MOST_TURNS)
        return vbs_fail(ctx, VBS_USAGE, "%d to %d turns; 0 to %d are possible", own->min_turns,
                        own->max_turns, MOST_TURNS);
    if (!(own->cache_bytes_per_us >= 0 && isfinite(own->cache_bytes_per_us)))
        return vbs_fail(ctx, VBS_USAGE, "a last-level cache of %g bytes a microsecond",
                        own->cache_bytes_per_us);
    if (own->time_limit_s == 0)
        own->time_limit_s = VBS_TURNS_LIMIT_S;
    if (own->min_turns == 0)
        own->min_turns =
            own->max_turns > 0 && own->max_turns < VBS_TURNS_MIN ? own->max_turns : VBS_TURNS_MIN;
    if (own->max_turns == 0)
        own->max_turns = own->min_turns > VBS_TURNS_MAX ? own->min_turns : VBS_TURNS_MAX;
    if (own->min_turns > own->max_turns)
        return vbs_fail(ctx, VBS_USAGE, "at least %d turns, but at most %d", own->min_turns,
                        own->max_turns);
    return VBS_OK;
}

/* Shuffles the order of the last turn (Fisher, Yates). */
static void shuffle(struct course *course)
{
    for (int i = course->subjects->n - 1; i > 0; i--) {
        int other = (int)(vbs_random_next(&course->state) % (uint64_t)(i + 1));
        int moved = course->order[i];

        course->order[i] = course->order[other];
        course->order[other] = moved;
    }
}

static bool is_unusual(const struct vbs_turns_subjects *subjects)
{
    return subjects->is_unusual && subjects->is_unusual(subjects->self);
}

/* Runs all subjects once; row gets their times. *unusual: the machine was in another state than
 * the usual one before, after or between them. */
static enum vbs_status run_turn(struct vbs_ctx *ctx, struct course *course, double *row,
                                bool *unusual)
{
    const struct vbs_turns_subjects *subjects = course->subjects;

    shuffle(course);
    *unusual = is_unusual(subjects);
    for (int i = 0; i < subjects->n; i++) {
        int which = course->order[i];

        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted in turn %d", course->n_turns + 1);
        VBS_TRY(subjects->run(ctx, subjects->self, which, &row[which]));
        *unusual = is_unusual(subjects) || *unusual;
    }
    return VBS_OK;
}

/* Gives whether half of each interval is below the requested share. */
static enum vbs_status is_tight(struct vbs_ctx *ctx, const struct course *course, bool *tight)
{
    struct vbs_turns turns = {course->subjects->n, course->n_turns, course->times_us,
                              course->unusual};

    *tight = true;
    for (int i = 1; i < turns.n && *tight; i++) {
        struct vbs_turns_ratio ratio;

        VBS_TRY(vbs_turns_compare(ctx, &turns, i, 0, &ratio));
        *tight = (ratio.high - ratio.low) / 2 < course->options.until * ratio.ratio;
    }
    return VBS_OK;
}

/* Gives whether the turns are done. Intervals are computed again after an eighth more turns. */
static enum vbs_status is_done(struct vbs_ctx *ctx, struct course *course, double elapsed_s,
                               bool *done)
{
    const struct vbs_turns_options *options = &course->options;

    *done = course->n_turns >= options->max_turns ||
            (course->n_turns >= options->min_turns && elapsed_s >= options->time_limit_s);
    if (*done || options->until == 0 || course->n_turns < options->min_turns ||
        course->n_turns < course->n_judged)
        return VBS_OK;
    course->n_judged = course->n_turns + course->n_turns / 8 + 1;
    return is_tight(ctx, course, done);
}

static void show_progress(const struct course *course, double elapsed_s)
{
    const struct vbs_progress *progress = &course->options.progress;
    double limit_s = course->options.time_limit_s, left_s = fmax(limit_s - elapsed_s, 0);

    if (progress->report)
        progress->report(progress->self, fmin(elapsed_s / limit_s, 1), left_s, "running by turns");
}

static enum vbs_status run_course(struct vbs_ctx *ctx, struct course *course)
{
    int n = course->subjects->n;
    bool done = false;

    while (!done) {
        double elapsed_s;

        VBS_TRY(vbs_grow(ctx, &course->times_us, &course->capacity,
                         ((int64_t)course->n_turns + 1) * n, sizeof *course->times_us));
        VBS_TRY(vbs_grow(ctx, &course->unusual, &course->unusual_capacity,
                         (int64_t)course->n_turns + 1, sizeof *course->unusual));
        VBS_TRY(run_turn(ctx, course, course->times_us + (size_t)course->n_turns * (size_t)n,
                         &course->unusual[course->n_turns]));
        course->n_turns++;
        elapsed_s = course->subjects->now_s(course->subjects->self) - course->start_s;
        show_progress(course, elapsed_s);
        VBS_TRY(is_done(ctx, course, elapsed_s, &done));
    }
    return VBS_OK;
}

/* Hands over the times of the course. */
static enum vbs_status finish(struct vbs_ctx *ctx, struct course *course, struct vbs_turns **turns)
{
    struct vbs_turns *made = calloc(1, sizeof *made);

    if (!made)
        return vbs_no_memory(ctx);
    *made =
        (struct vbs_turns){course->subjects->n, course->n_turns, course->times_us, course->unusual};
    course->times_us = NULL;
    course->unusual = NULL;
    *turns = made;
    return VBS_OK;
}

enum vbs_status vbs_turns_by_clock(struct vbs_ctx *ctx, const struct vbs_turns_subjects *subjects,
                                   const struct vbs_turns_options *options,
                                   struct vbs_turns **turns)
{
    struct course course = {.subjects = subjects};
    double *first = NULL;
    bool unusual;
    enum vbs_status status = read_options(ctx, options, &course.options);

    if (status != VBS_OK)
        return status;
    if (subjects->n < 1 || subjects->n > MOST_SUBJECTS)
        return vbs_fail(ctx, VBS_USAGE, "%d executors; 1 to %d are possible", subjects->n,
                        MOST_SUBJECTS);
    course.state = course.options.seed;
    course.start_s = subjects->now_s(subjects->self);
    course.order = calloc((size_t)subjects->n, sizeof *course.order);
    first = calloc((size_t)subjects->n, sizeof *first);
    status = course.order && first ? VBS_OK : vbs_no_memory(ctx);
    if (status != VBS_OK)
        goto done;
    for (int i = 0; i < subjects->n; i++)
        course.order[i] = i;
    status = run_turn(ctx, &course, first, &unusual);
    if (status == VBS_OK)
        status = run_course(ctx, &course);
    if (status == VBS_OK)
        status = finish(ctx, &course, turns);
done:
    free(first);
    free(course.order);
    free(course.times_us);
    free(course.unusual);
    return status;
}

void vbs_turns_free(struct vbs_turns *turns)
{
    if (!turns)
        return;
    free((void *)(uintptr_t)turns->times_us);
    free((void *)(uintptr_t)turns->unusual);
    free(turns);
}

/* ---- Executors ---- */

struct executors {
    struct vbs_exec *const *at;
    struct vbs_cache_watch cache;
};

static enum vbs_status run_executor(struct vbs_ctx *ctx, void *self, int which, double *time_us)
{
    struct executors *executors = self;
    struct vbs_exec_report report;

    VBS_TRY(vbs_exec_run(ctx, executors->at[which], NULL, NULL, &report));
    *time_us = report.time_us;
    return VBS_OK;
}

static double system_s(void *self)
{
    (void)self;
    return vbs_clock_s();
}

static bool is_cache_unusual(void *self)
{
    struct executors *executors = self;

    return vbs_cache_watch_look(&executors->cache, vbs_exec_session(executors->at[0])) !=
           VBS_CACHE_USUAL;
}

enum vbs_status vbs_turns_run(struct vbs_ctx *ctx, int n, struct vbs_exec *const *execs,
                              const struct vbs_turns_options *options, struct vbs_turns **turns)
{
    struct executors executors = {.at = execs};
    struct vbs_turns_subjects subjects = {.self = &executors,
                                          .n = n,
                                          .run = run_executor,
                                          .now_s = system_s,
                                          .is_unusual = is_cache_unusual};
    struct vbs_turns_options own;

    VBS_TRY(vbs_options_read(ctx, "vbs_turns_options", options, &own, sizeof own));
    executors.cache.usual = own.cache_bytes_per_us;
    for (int i = 0; i < n; i++)
        vbs_exec_set_times_only(execs[i], true);
    return vbs_turns_by_clock(ctx, &subjects, options, turns);
}
