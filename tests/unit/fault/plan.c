/*
 * Every allocation of planning, schedules, replay and comparison fails once, and then also every
 * one from it on: the call says that memory is out, leaves its outputs and files as they were and
 * nothing behind (AddressSanitizer looks), and the same call then succeeds with the same result.
 */
#include "support/fault.h"
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/planner.h"
#include "support/tap.h"

#include "vbslab/replay.h"
#include "vbslab/report.h"

#include <dirent.h>
#include <stdlib.h>

#define SEED       7
#define MAX_TRIES  1000 /* profiles that are searched for one that has all features */
#define MIN_LAYERS 11
#define REQUEST    5
#define PLANNER    "dp-monotone" /* its schedule is written, read and replayed */

/* The arguments of the calls, which are made while nothing fails. */
/* The files of the folder. */
enum file { PLAN, TRACE, EVENTS, RUN, N_FILES };
static const char *const FILE_NAMES[] = {"plan.json", "trace.csv", "events.json", "run.json"};

struct subject {
    struct vbs_profile *profile;
    struct vbs_problem problem;
    const struct vbs_planner *planner;
    struct vbs_solver *solver, *late; /* the latter with a latency that no budget keeps */
    struct vbs_schedule *schedule;
    struct vbs_frontier *frontier;
    struct vbs_replay *replay;
    struct vbs_compare *compare;
    struct vbs_byte_range budgets, few; /* the default ones, and three of them */
    char *folder, *texts[3];
    struct {
        char *path, *text; /* as it was written without faults */
        size_t length;
    } files[N_FILES];
    struct vbs_exec_step *executed; /* [n_steps] of the replay */
};

struct task {
    const char *name;
    /* Runs the task. VBS_OK when it succeeded with the same result as before; VBS_N_STATUS when it
     * broke a promise. */
    enum vbs_status (*run)(struct vbs_ctx *ctx, const struct subject *subject);
    enum vbs_status expected; /* when nothing fails */
    bool of_planner;          /* the task runs for each planner */
    /* jansson's lexer overlooks an allocation that fails once, and takes one that fails in a word
     * for a malformed word. */
    bool by_lexer;
};

/* Ends the faults once the call under test has returned: the calls that follow are the test's
 * own. */
static void end_faults(void)
{
    allocation_faults.countdown = 0;
}

static int count_files(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        n += entry->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static bool same_steps(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    for (int64_t i = 0; a->n_steps == b->n_steps && i < a->n_steps; i++)
        if (a->steps[i].layer != b->steps[i].layer || a->steps[i].batch != b->steps[i].batch ||
            strcmp(a->algorithms[a->steps[i].algorithm], b->algorithms[b->steps[i].algorithm]) != 0)
            return false;
    return a->n_steps == b->n_steps && a->predicted.time_us == b->predicted.time_us &&
           a->predicted.peak_bytes == b->predicted.peak_bytes &&
           a->bound.time_us == b->bound.time_us;
}

/* ---- Planning ---- */

static enum vbs_status make_solver(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_solver *solver = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_solver_new(ctx, subject->planner, &subject->problem, NULL, &solver);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, solver);
    same = vbs_solver_least_bytes(solver) == vbs_solver_least_bytes(subject->solver);
    vbs_solver_free(solver);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status plan(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_solver_plan(ctx, subject->solver, subject->schedule->memory_bytes, &schedule);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, schedule);
    same = same_steps(schedule, subject->schedule);
    vbs_schedule_free(schedule);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status plan_too_little(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_schedule *schedule = (void *)&fault_untouched;

    return fault_status(vbs_solver_plan(ctx, subject->solver,
                                        vbs_solver_least_bytes(subject->solver) - 1, &schedule),
                        schedule);
}

static enum vbs_status explain_solver(struct vbs_ctx *ctx, struct vbs_solver *solver)
{
    struct vbs_infeasibility infeasibility = {.least_bytes = -5};
    enum vbs_status status = vbs_solver_explain(ctx, solver, &infeasibility);

    if (status != VBS_OK)
        return infeasibility.least_bytes == -5 ? status : VBS_N_STATUS;
    return infeasibility.least_bytes == vbs_solver_least_bytes(solver) ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status explain(struct vbs_ctx *ctx, const struct subject *subject)
{
    return explain_solver(ctx, subject->solver);
}

static enum vbs_status explain_late(struct vbs_ctx *ctx, const struct subject *subject)
{
    return explain_solver(ctx, subject->late);
}

static enum vbs_status frontier(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_frontier *found = (void *)&fault_untouched;
    const struct vbs_frontier *want = subject->frontier;
    enum vbs_status status = vbs_solver_frontier(ctx, subject->solver, &found);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, found);
    same = found->n_points == want->n_points;
    for (int i = 0; same && i < want->n_points; i++)
        same = found->points[i].memory_bytes == want->points[i].memory_bytes &&
               found->points[i].time_us == want->points[i].time_us;
    vbs_frontier_free(found);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status bound(struct vbs_ctx *ctx, const struct subject *subject)
{
    double time_us = -1;
    enum vbs_status status =
        vbs_bound_us(ctx, &subject->problem, subject->schedule->memory_bytes, &time_us);

    if (status != VBS_OK)
        return time_us == -1 ? status : VBS_N_STATUS;
    return time_us >= subject->schedule->bound.time_us ? VBS_OK : VBS_N_STATUS;
}

/* ---- Schedules as files ---- */

static enum vbs_status copy_schedule(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_schedule *copy = (void *)&fault_untouched;
    enum vbs_status status = vbs_schedule_copy(ctx, subject->schedule, &copy);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, copy);
    same = same_steps(copy, subject->schedule);
    vbs_schedule_free(copy);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status write_file(struct vbs_ctx *ctx, const struct subject *subject, int file)
{
    const char *path = subject->files[file].path;
    const struct vbs_exec_report executed = {.time_us = subject->replay->time_us,
                                             .n_steps = subject->replay->n_steps,
                                             .steps = subject->executed};

    switch (file) {
    case PLAN:
        return vbs_schedule_write_json(ctx, subject->schedule, path);
    case TRACE:
        return vbs_replay_write_csv(ctx, subject->profile, subject->schedule, subject->replay,
                                    path);
    case EVENTS:
        return vbs_replay_write_events(ctx, subject->profile, subject->schedule, subject->replay,
                                       path);
    default:
        return vbs_executed_write_events(ctx, subject->profile, subject->schedule, subject->replay,
                                         &executed, path);
    }
}

/* Writes a file again; VBS_N_STATUS when it is then another one, written or not. */
static enum vbs_status rewrite(struct vbs_ctx *ctx, const struct subject *subject, int file)
{
    enum vbs_status status = write_file(ctx, subject, file);
    size_t length = 0;
    char *found;
    bool same;

    end_faults();
    found = read_text(subject->files[file].path, &length);
    same = found && length == subject->files[file].length &&
           memcmp(found, subject->files[file].text, length) == 0;
    free(found);
    return same ? status : VBS_N_STATUS;
}

static enum vbs_status write_schedule(struct vbs_ctx *ctx, const struct subject *subject)
{
    return rewrite(ctx, subject, PLAN);
}

static enum vbs_status read_schedule(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    enum vbs_status status = vbs_schedule_read_json(ctx, subject->files[PLAN].path, &schedule);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, schedule);
    same = same_steps(schedule, subject->schedule);
    vbs_schedule_free(schedule);
    return same ? VBS_OK : VBS_N_STATUS;
}

/* ---- Replay ---- */

static enum vbs_status replay(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_replay *found = (void *)&fault_untouched;
    enum vbs_status status =
        vbs_replay_run(ctx, subject->profile, subject->schedule, -1, true, &found);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, found);
    same = found->time_us == subject->replay->time_us &&
           found->peak_bytes == subject->replay->peak_bytes && found->steps;
    vbs_replay_free(found);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status write_trace(struct vbs_ctx *ctx, const struct subject *subject)
{
    return rewrite(ctx, subject, TRACE);
}

static enum vbs_status write_events(struct vbs_ctx *ctx, const struct subject *subject)
{
    return rewrite(ctx, subject, EVENTS);
}

static enum vbs_status write_run(struct vbs_ctx *ctx, const struct subject *subject)
{
    return rewrite(ctx, subject, RUN);
}

/* ---- Comparison ---- */

static enum vbs_status choose_budgets(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_byte_range range = {.from_bytes = -1};
    enum vbs_status status = vbs_compare_default_budgets(ctx, &subject->problem, &range);

    if (status != VBS_OK)
        return range.from_bytes == -1 ? status : VBS_N_STATUS;
    return memcmp(&range, &subject->budgets, sizeof range) == 0 ? VBS_OK : VBS_N_STATUS;
}

/* fbs-best is not among the planners, so that the baseline is planned beside them. */
static enum vbs_status compare(struct vbs_ctx *ctx, const struct subject *subject)
{
    const struct vbs_planner *planners[] = {planner_named("fbs"), planner_named("greedy-vbs"),
                                            planner_named("dp-monotone")};
    struct vbs_compare_options options = {.struct_size = sizeof(struct vbs_compare_options),
                                          .budgets = &subject->few,
                                          .planners = planners,
                                          .n_planners = 3};
    struct vbs_compare *found = (void *)&fault_untouched;
    enum vbs_status status = vbs_compare_run(ctx, &subject->problem, &options, &found);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, found);
    same = found->n_budgets == subject->compare->n_budgets &&
           found->rows[0].per_sample_us == subject->compare->rows[0].per_sample_us;
    vbs_compare_free(found);
    return same ? VBS_OK : VBS_N_STATUS;
}

enum { TABLE, JSON, CSV };

static enum vbs_status print_form(struct vbs_ctx *ctx, const struct subject *subject, int form,
                                  char **text)
{
    const struct vbs_compare *const compares[] = {subject->compare, subject->compare};

    if (form == TABLE)
        return vbs_compare_table(ctx, subject->compare, 0, true, text);
    return form == JSON ? vbs_compare_json(ctx, compares, 2, text)
                        : vbs_compare_csv(ctx, compares, 2, text);
}

static enum vbs_status try_form(struct vbs_ctx *ctx, const struct subject *subject, int form)
{
    char *text = &fault_untouched;
    enum vbs_status status = print_form(ctx, subject, form, &text);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, text);
    same = strcmp(text, subject->texts[form]) == 0;
    free(text);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status print_table(struct vbs_ctx *ctx, const struct subject *subject)
{
    return try_form(ctx, subject, TABLE);
}

static enum vbs_status print_json(struct vbs_ctx *ctx, const struct subject *subject)
{
    return try_form(ctx, subject, JSON);
}

static enum vbs_status print_csv(struct vbs_ctx *ctx, const struct subject *subject)
{
    return try_form(ctx, subject, CSV);
}

static const struct task TASKS[] = {
    {.name = "making a solver", .run = make_solver, .of_planner = true},
    {.name = "a plan", .run = plan, .of_planner = true},
    {.name = "a plan for too little memory",
     .run = plan_too_little,
     .expected = VBS_INFEASIBLE,
     .of_planner = true},
    {.name = "the infeasibility of a budget", .run = explain, .of_planner = true},
    {.name = "the infeasibility of a latency", .run = explain_late, .of_planner = true},
    {.name = "a frontier", .run = frontier, .of_planner = true},
    {.name = "a lower bound", .run = bound},
    {.name = "copying a schedule", .run = copy_schedule},
    {.name = "writing a schedule", .run = write_schedule},
    {.name = "reading a schedule", .run = read_schedule, .by_lexer = true},
    {.name = "a replay with its trace", .run = replay},
    {.name = "writing a trace", .run = write_trace},
    {.name = "writing trace events", .run = write_events},
    {.name = "writing trace events of a run", .run = write_run},
    {.name = "choosing budgets", .run = choose_budgets},
    {.name = "a comparison", .run = compare},
    {.name = "the table of a comparison", .run = print_table},
    {.name = "the JSON of a comparison", .run = print_json},
    {.name = "the CSV of a comparison", .run = print_csv},
};

/* ---- Trying them ---- */

/* Gives whether the call works again without faults. */
static bool works_again(const struct task *task, const struct subject *subject)
{
    struct vbs_ctx ctx = {0};

    return task->run(&ctx, subject) == task->expected && count_files(subject->folder) == N_FILES;
}

/* Gives whether a status is allowed. Success is too, where a result is right although an allocation
 * failed. */
static bool is_allowed(const struct task *task, enum vbs_status status, bool lasting)
{
    return status == VBS_NO_MEMORY || status == task->expected ||
           (status == VBS_FORMAT && task->by_lexer && lasting);
}

struct trial_subject {
    const struct task *task;
    const struct subject *subject;
    bool lasting;
};

static enum vbs_status run(struct vbs_ctx *ctx, const void *trial)
{
    const struct trial_subject *t = trial;

    return t->task->run(ctx, t->subject);
}

static bool is_sound(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *trial)
{
    const struct trial_subject *t = trial;

    (void)n;
    return is_allowed(t->task, status, t->lasting) && (status == VBS_OK || ctx->status == status) &&
           works_again(t->task, t->subject);
}

static void try_task(const struct task *task, const struct subject *subject, bool lasting)
{
    const struct trial_subject tried = {task, subject, lasting};
    struct fault_trial trial = {
        .run = run, .subject = &tried, .lasting = lasting, .is_sound = is_sound};

    fault_jansson(!task->by_lexer || lasting);
    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == task->expected,
       "%s%s%s: %d allocations, %s", task->name, task->of_planner ? " of " : "",
       task->of_planner ? vbs_planner_name(subject->planner) : "", trial.n_faults, trial.way);
}

/* ---- The subject ---- */

static bool has_branches(const struct vbs_profile *profile)
{
    for (int k = 1; k <= profile->n_layers; k++)
        if (profile->layers[k].n_inputs > 1)
            return profile->n_algorithms > 1 && profile->n_batches > 2;
    return false;
}

/* Makes a profile of layers that branch and join, with several batches and algorithms. */
static struct vbs_profile *branched_profile(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct vbs_profile *profile = NULL;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < MAX_TRIES && !profile; i++) {
        profile = random_profile(rng, RANDOM_BRANCHED, RANDOM_MAX_LAYERS);
        if (profile && (profile->n_layers < MIN_LAYERS || !has_branches(profile))) {
            vbs_profile_free(profile);
            profile = NULL;
        }
    }
    gsl_rng_free(rng);
    if (!profile)
        bail_out("no profile with branches");
    return profile;
}

/* Makes the planner's solver, a plan at twice the least memory, and the frontier. */
static void set_planner(struct subject *subject, const struct vbs_planner *planner)
{
    struct vbs_problem late = subject->problem;

    vbs_frontier_free(subject->frontier);
    vbs_schedule_free(subject->schedule);
    vbs_solver_free(subject->solver);
    vbs_solver_free(subject->late);
    subject->planner = planner;
    late.latency_us = 1;
    if (vbs_solver_new(NULL, planner, &subject->problem, NULL, &subject->solver) != VBS_OK ||
        vbs_solver_plan(NULL, subject->solver, 2 * vbs_solver_least_bytes(subject->solver),
                        &subject->schedule) != VBS_OK ||
        vbs_solver_frontier(NULL, subject->solver, &subject->frontier) != VBS_OK ||
        vbs_solver_new(NULL, planner, &late, NULL, &subject->late) != VBS_OK ||
        vbs_solver_least_bytes(subject->late) != INT64_MAX)
        bail_out("no plan");
}

/* Writes all files; the run takes as long as its replay. */
static void set_files(struct subject *subject)
{
    const struct vbs_replay *replay = subject->replay;

    subject->folder = temporary_folder();
    subject->executed = calloc((size_t)replay->n_steps, sizeof *subject->executed);
    if (!subject->executed)
        bail_out("no memory");
    for (int64_t i = 0; i < replay->n_steps; i++)
        subject->executed[i] =
            (struct vbs_exec_step){replay->steps[i].start_us, replay->steps[i].end_us};
    for (int file = 0; file < N_FILES; file++) {
        subject->files[file].path = path_in(subject->folder, FILE_NAMES[file]);
        if (write_file(NULL, subject, file) != VBS_OK)
            bail_out("no %s", FILE_NAMES[file]);
        subject->files[file].text =
            read_text(subject->files[file].path, &subject->files[file].length);
    }
}

static void subject_init(struct subject *subject)
{
    *subject = (struct subject){.profile = branched_profile()};
    subject->problem = (struct vbs_problem){.profile = subject->profile, .request = REQUEST};
    set_planner(subject, planner_named(PLANNER));
    if (vbs_replay_run(NULL, subject->profile, subject->schedule, -1, true, &subject->replay) !=
            VBS_OK ||
        vbs_compare_default_budgets(NULL, &subject->problem, &subject->budgets) != VBS_OK)
        bail_out("no replay");
    subject->few = subject->budgets;
    subject->few.to_bytes = subject->few.from_bytes + 2 * subject->few.step_bytes;
    if (vbs_compare_run(
            NULL, &subject->problem,
            &(struct vbs_compare_options){.struct_size = sizeof(struct vbs_compare_options),
                                          .budgets = &subject->few},
            &subject->compare) != VBS_OK)
        bail_out("no comparison");
    for (int form = TABLE; form <= CSV; form++)
        if (print_form(NULL, subject, form, &subject->texts[form]) != VBS_OK)
            bail_out("no table");
    set_files(subject);
}

static void subject_clear(struct subject *subject)
{
    for (int form = TABLE; form <= CSV; form++)
        free(subject->texts[form]);
    for (int file = 0; file < N_FILES; file++) {
        free(subject->files[file].path);
        free(subject->files[file].text);
    }
    free(subject->executed);
    remove_folder(subject->folder);
    vbs_compare_free(subject->compare);
    vbs_replay_free(subject->replay);
    vbs_frontier_free(subject->frontier);
    vbs_schedule_free(subject->schedule);
    vbs_solver_free(subject->solver);
    vbs_solver_free(subject->late);
    vbs_profile_free(subject->profile);
}

int main(void)
{
    struct subject subject;

    subject_init(&subject);
    printf("# a profile of %d layers, seed %d\n", subject.profile->n_layers, SEED);
    for (size_t i = 0; i < sizeof TASKS / sizeof TASKS[0]; i++) {
        for (int p = 0; vbs_planner_at(p); p++) {
            if (!TASKS[i].of_planner && vbs_planner_at(p) != planner_named(PLANNER))
                continue;
            if (vbs_planner_estimates(vbs_planner_at(p)))
                continue; /* no schedules: fault/recompute.c */
            if (vbs_planner_transfers(vbs_planner_at(p)))
                continue; /* only with weights included: fault/weights.c */
            if (strcmp(vbs_planner_name(vbs_planner_at(p)), "optimal") == 0)
                continue; /* it takes too long for so many layers: fault/optimal.c */
            set_planner(&subject, vbs_planner_at(p));
            try_task(&TASKS[i], &subject, false);
            try_task(&TASKS[i], &subject, true);
        }
    }
    subject_clear(&subject);
    return done_testing();
}
