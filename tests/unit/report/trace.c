/*
 * Trace events: random replays and runs keep the documented rules of the format, and the events
 * agree with the replay: every step once, its time, and the memory over time.
 */
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "support/tap.h"

#include "base/text.h"
#include "vbslab/report.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED     20260711
#define N_TRIALS 120

/* A schedule, its replay and a run of it. */
struct ran {
    struct vbs_profile *profile;
    struct vbs_schedule *schedule;
    struct vbs_replay *replay;
    struct vbs_exec_step *steps;
    struct vbs_exec_report report;
};

static void clear(struct ran *ran)
{
    free(ran->steps);
    vbs_replay_free(ran->replay);
    vbs_schedule_free(ran->schedule);
    vbs_profile_free(ran->profile);
    *ran = (struct ran){0};
}

static void replay_within(struct ran *ran, int64_t memory_bytes)
{
    struct vbs_ctx ctx = {0};

    vbs_replay_free(ran->replay);
    ran->replay = NULL;
    if (vbs_replay_run(&ctx, ran->profile, ran->schedule, memory_bytes, true, &ran->replay) !=
        VBS_OK)
        bail_out("%s", ctx.detail);
}

/* Invents a run in which each clock takes other times than planned, with pauses. */
static void invent_run(gsl_rng *rng, struct ran *ran)
{
    double at_us[2] = {0, 0};

    ran->steps = calloc((size_t)ran->schedule->n_steps, sizeof *ran->steps);
    if (!ran->steps)
        bail_out("memory is out");
    for (int64_t i = 0; i < ran->schedule->n_steps; i++) {
        const struct vbs_replay_step *planned = &ran->replay->steps[i];
        double *at = &at_us[ran->schedule->steps[i].op != VBS_STEP_COMPUTE];

        ran->steps[i].start_us = *at + gsl_rng_uniform(rng);
        *at = ran->steps[i].start_us +
              gsl_rng_uniform(rng) * 3 * (planned->end_us - planned->start_us);
        ran->steps[i].end_us = *at;
    }
    ran->report = (struct vbs_exec_report){.time_us = fmax(at_us[0], at_us[1]),
                                           .n_steps = ran->schedule->n_steps,
                                           .steps = ran->steps};
}

/* Makes a run with or without weights, in exactly the memory that it needs. */
static struct ran random_run(gsl_rng *rng, bool with_weights)
{
    struct ran ran = {0};

    do {
        clear(&ran);
        ran.profile = with_weights ? random_transfer_profile(rng, BRUTE_LAYERS, 6)
                                   : random_profile(rng, RANDOM_LINEAR, 6);
        if (ran.profile)
            ran.schedule =
                with_weights
                    ? random_transfer_schedule(rng, ran.profile, random_int(rng, 1, 3),
                                               VBS_IO_EXTERNAL, 4)
                    : random_schedule(rng, ran.profile, random_int(rng, 1, 9), VBS_IO_RESIDENT);
    } while (!ran.schedule);
    if (with_weights)
        ran.schedule->copy = (struct vbs_link){.source = "given", .bytes_per_us = 3};
    replay_within(&ran, INT64_C(1) << 40);
    replay_within(&ran, ran.replay->peak_bytes);
    invent_run(rng, &ran);
    return ran;
}

/* ---- The rules of the format ---- */

/* Events of one process, as they are read. */
struct seen {
    int64_t n_steps;
    double busy_us[2];   /* of compute steps, of loads */
    double end_us;       /* the last end of a step */
    double memory_ts_us; /* of the last counter of memory */
    double budget, most; /* most: the largest sum of a counter of memory */
    int n_budgets;
    bool named;
};

static double number(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static const char *string(const json_t *event, const char *key)
{
    const char *value = json_string_value(json_object_get(event, key));

    return value ? value : "";
}

static bool check_counter(const json_t *event, struct seen *seen)
{
    json_t *args = json_object_get(event, "args"), *value;
    const char *key;
    double sum = 0;

    json_object_foreach(args, key, value)
    {
        if (!json_is_number(value) || json_number_value(value) < 0)
            return false;
        sum += json_number_value(value);
    }
    if (strcmp(string(event, "name"), "budget (bytes)") == 0) {
        seen->n_budgets++;
        seen->budget = sum;
        return json_object_size(args) == 1;
    }
    if (number(event, "ts") <= seen->memory_ts_us)
        return false;
    seen->memory_ts_us = number(event, "ts");
    seen->most = fmax(seen->most, sum);
    return strcmp(string(event, "name"), "memory (bytes)") == 0 && sum <= seen->budget;
}

static bool check_step(const json_t *event, bool complete, struct seen *seen)
{
    double ts = number(event, "ts"), dur = complete ? number(event, "dur") : 0;
    const json_t *args = json_object_get(event, "args");
    bool computes = strcmp(string(event, "cat"), "compute") == 0;

    if (!(dur >= 0) || number(event, "tid") != (computes ? 1 : 2) ||
        !(number(args, "step") == (double)++seen->n_steps) || !(number(args, "layer") >= 1) ||
        (computes && (!(number(args, "batch") >= 1) || !string(args, "samples")[0] ||
                      !string(args, "algorithm")[0])))
        return false;
    if (!complete && strcmp(string(event, "s"), "t") != 0)
        return false;
    seen->busy_us[computes ? 0 : 1] += dur;
    seen->end_us = fmax(seen->end_us, ts + dur);
    return string(event, "name")[0] != '\0';
}

static bool check_event(const json_t *event, struct seen seen[3])
{
    const char *kind = string(event, "ph");
    double process = number(event, "pid");
    struct seen *own;

    if (process != 1 && process != 2)
        return false;
    own = &seen[(int)process];
    if (strcmp(kind, "M") == 0) {
        own->named = own->named || strcmp(string(event, "name"), "process_name") == 0;
        return json_is_object(json_object_get(event, "args"));
    }
    if (!(number(event, "ts") >= 0))
        return false;
    if (strcmp(kind, "C") == 0)
        return check_counter(event, own);
    return (strcmp(kind, "X") == 0 || strcmp(kind, "i") == 0) &&
           check_step(event, kind[0] == 'X', own);
}

/* Gives whether two complete events of one thread are disjoint, or one lies within the other. In
 * nanoseconds, which are whole. */
static bool nest(const json_t *a, const json_t *b)
{
    int64_t from_a = llround(1e3 * number(a, "ts")), from_b = llround(1e3 * number(b, "ts"));
    int64_t to_a = from_a + llround(1e3 * number(a, "dur"));
    int64_t to_b = from_b + llround(1e3 * number(b, "dur"));

    return to_a <= from_b || to_b <= from_a || (from_a <= from_b && to_b <= to_a) ||
           (from_b <= from_a && to_a <= to_b);
}

static bool all_nest(const json_t *events)
{
    for (size_t i = 0; i < json_array_size(events); i++)
        for (size_t k = 0; k < i; k++) {
            const json_t *a = json_array_get(events, i), *b = json_array_get(events, k);

            if (strcmp(string(a, "ph"), "X") == 0 && strcmp(string(b, "ph"), "X") == 0 &&
                number(a, "pid") == number(b, "pid") && number(a, "tid") == number(b, "tid") &&
                !nest(a, b))
                return false;
        }
    return true;
}

static json_t *read_events(const char *path, struct seen seen[3], bool *right)
{
    json_t *root = json_load_file(path, 0, NULL), *event;
    json_t *events = json_object_get(root, "traceEvents");
    size_t i;

    for (int p = 1; p <= 2; p++)
        seen[p] = (struct seen){.memory_ts_us = -1};
    *right = json_is_array(events) && all_nest(events);
    json_array_foreach(events, i, event)
    {
        if (!check_event(event, seen)) {
            char *text = json_dumps(event, 0);

            printf("# event %d: %s\n", (int)i, text ? text : "");
            free(text);
            *right = false;
        }
    }
    return root;
}

/* ---- What they say ---- */

/* The most memory of any compute step that takes time, and between steps. */
static double most_memory(const struct ran *ran)
{
    int64_t most = 0;

    for (int64_t i = 0; i < ran->replay->n_steps; i++) {
        const struct vbs_replay_step *at = &ran->replay->steps[i];

        if (ran->schedule->steps[i].op == VBS_STEP_COMPUTE && at->end_us - at->start_us > 1e-3 &&
            at->memory_bytes > most)
            most = at->memory_bytes;
    }
    return (double)most;
}

static bool agrees(const struct ran *ran, const struct seen seen[3], bool executed)
{
    double rounding = 2e-3 * (double)ran->replay->n_steps;
    bool right = seen[1].named && seen[1].n_steps == ran->replay->n_steps &&
                 fabs(seen[1].busy_us[0] - ran->replay->compute_us) < rounding &&
                 fabs(seen[1].busy_us[1] - ran->replay->copy_us) < rounding &&
                 fabs(seen[1].end_us - ran->replay->time_us) < 2e-3 && seen[1].n_budgets == 2 &&
                 seen[1].budget == (double)ran->replay->memory_bytes &&
                 seen[1].most >= most_memory(ran);

    if (!executed)
        return right && !seen[2].named && seen[2].n_steps == 0;
    return right && seen[2].named && seen[2].n_steps == ran->replay->n_steps &&
           fabs(seen[2].end_us - ran->report.time_us) < 2e-3 && seen[2].budget == seen[1].budget;
}

static bool is_right(const struct ran *ran, const char *path, bool executed)
{
    struct seen seen[3];
    struct vbs_ctx ctx = {0};
    bool right;
    enum vbs_status status =
        executed ? vbs_executed_write_events(&ctx, ran->profile, ran->schedule, ran->replay,
                                             &ran->report, path)
                 : vbs_replay_write_events(&ctx, ran->profile, ran->schedule, ran->replay, path);
    json_t *root;

    if (status != VBS_OK)
        bail_out("%s", ctx.detail);
    root = read_events(path, seen, &right);
    right = right && agrees(ran, seen, executed);
    json_decref(root);
    unlink(path);
    return right;
}

static void events_keep_the_rules(gsl_rng *rng, const char *path)
{
    int n_wrong = 0, n_loads = 0;

    for (int trial = 0; trial < N_TRIALS; trial++) {
        struct ran ran = random_run(rng, trial % 3 > 0);

        if (!is_right(&ran, path, false) || !is_right(&ran, path, true)) {
            printf("# trial %d is wrong\n", trial);
            n_wrong++;
        }
        n_loads += ran.replay->n_copies > 0;
        clear(&ran);
    }
    ok(n_wrong == 0 && n_loads > 0, "replays and runs of %d schedules, %d of them with loads",
       N_TRIALS, n_loads);
}

static void times_add_up_to_the_replays(gsl_rng *rng, const char *path)
{
    struct ran ran = random_run(rng, false);
    struct seen seen[3];
    bool right;

    if (vbs_replay_write_events(NULL, ran.profile, ran.schedule, ran.replay, path) != VBS_OK)
        bail_out("no events");
    json_decref(read_events(path, seen, &right));
    ok(right && fabs(seen[1].busy_us[0] - ran.replay->time_us) < 1e-3,
       "without weights the compute steps take the whole time, %g us of %g", seen[1].busy_us[0],
       ran.replay->time_us);
    unlink(path);
    clear(&ran);
}

static void large_files_are_written_in_pieces(gsl_rng *rng, const char *path)
{
    struct ran ran = {0};
    struct stat about;
    struct seen seen[3];
    json_t *root, *event;
    size_t i;

    do {
        clear(&ran);
        ran.profile = random_profile(rng, RANDOM_LINEAR, 6);
        if (ran.profile)
            ran.schedule = random_schedule(rng, ran.profile, VBS_MAX_REQUEST, VBS_IO_EXTERNAL);
        if (!ran.schedule)
            bail_out("no schedule");
    } while (ran.schedule->n_steps < 8000);
    replay_within(&ran, INT64_C(1) << 40);
    if (vbs_replay_write_events(NULL, ran.profile, ran.schedule, ran.replay, path) != VBS_OK ||
        stat(path, &about) != 0)
        bail_out("no events");
    root = json_load_file(path, 0, NULL);
    seen[1] = (struct seen){.memory_ts_us = -1};
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)(void)
        check_event(event, seen);
    ok(about.st_size > 1 << 20 && seen[1].n_steps == ran.replay->n_steps,
       "a file of %lld bytes has all %lld steps", (long long)about.st_size,
       (long long)ran.replay->n_steps);
    json_decref(root);
    unlink(path);
    clear(&ran);
}

static void refusals(gsl_rng *rng, const char *path)
{
    struct ran ran = random_run(rng, true);
    struct vbs_replay bare = *ran.replay;
    struct vbs_exec_report other = ran.report;
    struct vbs_ctx ctx = {0};

    bare.steps = NULL;
    ok(vbs_replay_write_events(&ctx, ran.profile, ran.schedule, &bare, path) == VBS_USAGE &&
           access(path, F_OK) != 0,
       "a replay without a trace: %s", ctx.detail);
    other.n_steps++;
    ok(vbs_executed_write_events(&ctx, ran.profile, ran.schedule, ran.replay, &other, path) ==
           VBS_INVALID,
       "another number of steps: %s", ctx.detail);
    bare = *ran.replay;
    bare.time_us = 1e17;
    ok(vbs_replay_write_events(&ctx, ran.profile, ran.schedule, &bare, path) == VBS_UNSUPPORTED,
       "a schedule of centuries: %s", ctx.detail);
    ok(vbs_replay_write_events(&ctx, ran.profile, ran.schedule, ran.replay, "/nowhere/t.json") ==
           VBS_IO,
       "a folder that is not there: %s", ctx.detail);
    ok(vbs_replay_write_events(&ctx, ran.profile, ran.schedule, ran.replay, "/dev/full") == VBS_IO,
       "a full device: %s", ctx.detail);
    clear(&ran);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    char folder[] = "/tmp/tXXXXXX", path[64];

    if (!rng || !mkdtemp(folder))
        return 1;
    gsl_rng_set(rng, SEED);
    snprintf(path, sizeof path, "%s/trace.json", folder);
    events_keep_the_rules(rng, path);
    times_add_up_to_the_replays(rng, path);
    large_files_are_written_in_pieces(rng, path);
    refusals(rng, path);
    ok(rmdir(folder) == 0, "nothing else was written");
    gsl_rng_free(rng);
    return done_testing();
}
