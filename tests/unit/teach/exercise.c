/*
 * Exercises: all of the first seeds of every level can be solved and are worth it; the judge says
 * what a slow judge says, of the answer to start from, of the solution, and of both with random
 * faults; hints give no schedule away. Arguments: number of seeds of each level, seed of the
 * faults.
 */
#include "reference/teach/slow_judge.h"
#include "cases/random_profile.h"
#include "support/tally.h"
#include "support/trials.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <math.h>
#include <stdlib.h>

#define SEED     17
#define N_SEEDS  200
#define N_SLOW   10 /* of each level, whose optimum the slow search finds too */
#define N_FAULTS 3  /* of each answer */

#define PROPERTY_LIST(X)                                                                           \
    X(MADE, "an exercise is made")                                                                 \
    X(AGAIN, "the same seed makes the same problem")                                               \
    X(SMALL, "its sizes and times are small whole numbers")                                        \
    X(FBS, "the optimum takes at least 5% less time than fbs-best")                                \
    X(GREEDY, "from level 2 on, the optimum takes less time than greedy-vbs")                      \
    X(STREAMS, "with weights inside, the optimum takes less time than with all of them resident")  \
    X(PLANNER, "with weights outside, the optimum is that of planner optimal")                     \
    X(BRUTE, "the optimum is that of a slow search through all schedules")                         \
    X(START, "the answer to start from fits and is slower than the optimum")                       \
    X(SOLUTION, "the solution fits and takes the optimal time")                                    \
    X(SCHEDULE, "the judge and the slow judge agree on what is a schedule")                        \
    X(FITS, "and on what fits")                                                                    \
    X(STEP, "and on the first wrong step")                                                         \
    X(NUMBERS, "and on time and peak")                                                             \
    X(FASTER, "nothing that fits is faster than the optimum")                                      \
    X(HINT, "there is a hint, and a reason where the answer does not fit")                         \
    X(REASON, "the reason names the wrong step")                                                   \
    X(SECRET, "a hint names no batch and one step at most")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    struct vbs_ctx ctx;
    gsl_rng *rng;
    int level;
    int64_t seed;
    struct vbs_exercise *exercise;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("level %d, seed %" PRId64, subject->level, subject->seed);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* ---- the problem ---- */

static void check_again(struct subject *subject)
{
    struct vbs_exercise *again = NULL;
    char hash[VBS_PROFILE_HASH_SIZE], other[VBS_PROFILE_HASH_SIZE];

    if (vbs_exercise_new(&subject->ctx, subject->level, subject->seed, &again) != VBS_OK) {
        check(subject, AGAIN, false);
        return;
    }
    vbs_profile_hash(subject->exercise->profile, hash);
    vbs_profile_hash(again->profile, other);
    check(subject, AGAIN,
          strcmp(hash, other) == 0 && again->memory_bytes == subject->exercise->memory_bytes &&
              again->optimum_us == subject->exercise->optimum_us);
    vbs_exercise_free(again);
}

static bool is_small(const struct vbs_exercise *exercise)
{
    const struct vbs_profile *profile = exercise->profile;
    bool small = exercise->memory_bytes < 200 && profile->n_layers <= 6 && exercise->request <= 6;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                small = small && rows[i].time_us > 0 && fmod(rows[i].time_us, 1000) == 0 &&
                        rows[i].time_us < 100e3 && rows[i].ws_bytes < 100;
        }
    return small;
}

static double planned_us(struct subject *subject, const char *name)
{
    const struct vbs_exercise *exercise = subject->exercise;
    const struct vbs_problem problem = {.profile = exercise->profile,
                                        .request = exercise->request,
                                        .io = exercise->io,
                                        .weights = exercise->weights,
                                        .copy = exercise->copy};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    double time_us = HUGE_VAL;

    if (vbs_planner_find(&subject->ctx, name, &planner) == VBS_OK &&
        vbs_solver_new(&subject->ctx, planner, &problem, NULL, &solver) == VBS_OK &&
        vbs_solver_plan(&subject->ctx, solver, exercise->memory_bytes, &schedule) == VBS_OK)
        time_us = schedule->predicted.time_us;
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    return time_us;
}

static void check_problem(struct subject *subject, bool slowly)
{
    const struct vbs_exercise *exercise = subject->exercise;
    bool inside = exercise->weights == VBS_WEIGHTS_INCLUDED;

    if (slowly)
        check_again(subject);
    check(subject, SMALL, is_small(exercise));
    check(subject, FBS, exercise->optimum_us <= 0.95 * planned_us(subject, "fbs-best"));
    if (subject->level > 1)
        check(subject, GREEDY, exercise->optimum_us < planned_us(subject, "greedy-vbs"));
    if (inside)
        check(subject, STREAMS, exercise->optimum_us < planned_us(subject, "optimal"));
    else
        check(subject, PLANNER, exercise->optimum_us == planned_us(subject, "optimal"));
    if (slowly)
        check(subject, BRUTE, exercise->optimum_us == slow_optimum_us(exercise));
}

/* ---- answers ---- */

/* Gives how often a word stands in text. */
static int count(const char *text, const char *word)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
        n++;
    return n;
}

static bool names_step(const struct vbs_exercise_verdict *verdict)
{
    char step[32];

    if (verdict->step == 0) /* the end; of weights, the load whose bytes are missing there */
        return strncmp(verdict->reason, "step ", 5) != 0 || strstr(verdict->reason, "load of ");
    snprintf(step, sizeof step, "step %" PRId64 " of ", verdict->step);
    return strncmp(verdict->reason, step, strlen(step)) == 0;
}

static struct vbs_exercise_verdict judge(struct subject *subject, const struct vbs_schedule *answer)
{
    struct vbs_exercise_verdict verdict = {0};
    struct slow_verdict slow = slow_judge(subject->exercise, answer);

    if (vbs_exercise_judge(&subject->ctx, subject->exercise, answer, &verdict) != VBS_OK) {
        check(subject, SCHEDULE, false);
        return verdict;
    }
    check(subject, SCHEDULE, verdict.is_schedule == slow.is_schedule);
    check(subject, FITS, verdict.fits == slow.fits);
    check(subject, STEP, verdict.step == slow.step);
    if (slow.is_schedule && verdict.is_schedule)
        check(subject, NUMBERS,
              verdict.time_us == slow.time_us && verdict.peak_bytes == slow.peak_bytes);
    if (verdict.fits)
        check(subject, FASTER, verdict.time_us >= subject->exercise->optimum_us);
    check(subject, HINT, verdict.hint[0] && (verdict.reason[0] != '\0') == !verdict.fits);
    if (!verdict.fits)
        check(subject, REASON, names_step(&verdict));
    check(subject, SECRET,
          count(verdict.hint, "batch 1") + count(verdict.hint, "batch 2") +
                      count(verdict.hint, "batch 3") + count(verdict.hint, "batch 4") ==
                  0 &&
              count(verdict.hint, " x") == 0 && strlen(verdict.hint) < 160 &&
              count(verdict.hint, "step 1") + count(verdict.hint, "step 2") <= 1);
    return verdict;
}

/* Changes something in steps; returns their number. */
static int64_t spoil(gsl_rng *rng, const struct vbs_profile *profile, struct vbs_step *steps,
                     int64_t n)
{
    int at = random_int(rng, 0, (int)n - 1), other = random_int(rng, 0, (int)n - 1);
    struct vbs_step swap = steps[at];

    switch (random_int(rng, 0, 5)) {
    case 0:
        steps[at] = steps[other];
        steps[other] = swap;
        return n;
    case 1:
        for (int64_t i = at; i + 1 < n; i++)
            steps[i] = steps[i + 1];
        return n - 1;
    case 2:
        for (int64_t i = n; i > at; i--)
            steps[i] = steps[i - 1];
        return n + 1;
    case 3: /* two steps of a layer become one, where one is behind the other */
        if (at + 1 < n && steps[at].op == VBS_STEP_COMPUTE)
            for (int64_t i = at + 1; i < n; i++)
                if (steps[i].op == VBS_STEP_COMPUTE && steps[i].layer == steps[at].layer) {
                    steps[i].batch += steps[at].batch;
                    for (int64_t j = at; j + 1 < n; j++)
                        steps[j] = steps[j + 1];
                    return n - 1;
                }
        return n;
    case 4:
        if (steps[at].op == VBS_STEP_COMPUTE)
            steps[at].algorithm = random_int(rng, 0, profile->n_algorithms - 1);
        return n;
    default:
        if (steps[at].op == VBS_STEP_COMPUTE)
            steps[at].batch = random_int(rng, 1, 5);
        else
            steps[at].resident = false;
        return n;
    }
}

static void judge_spoiled(struct subject *subject, const struct vbs_schedule *answer)
{
    struct vbs_schedule changed = *answer;
    int64_t n = answer->n_steps;
    struct vbs_step *steps = malloc(((size_t)n + N_FAULTS) * sizeof *steps);

    if (!steps)
        bail_out("out of memory");
    memcpy(steps, answer->steps, (size_t)n * sizeof *steps);
    for (int i = 0; i < N_FAULTS; i++) {
        n = spoil(subject->rng, subject->exercise->profile, steps, n);
        changed.steps = steps;
        changed.n_steps = n;
        judge(subject, &changed);
    }
    free(steps);
}

static void check_answers(struct subject *subject)
{
    struct vbs_schedule *start = NULL, *solution = NULL;
    struct vbs_exercise_verdict verdict;

    if (vbs_exercise_start(&subject->ctx, subject->exercise, &start) != VBS_OK ||
        vbs_exercise_solution(&subject->ctx, subject->exercise, &solution) != VBS_OK) {
        check(subject, START, false);
    } else {
        verdict = judge(subject, start);
        check(subject, START,
              verdict.fits && verdict.time_us > subject->exercise->optimum_us &&
                  strstr(verdict.hint, "no schedule is faster") == NULL);
        verdict = judge(subject, solution);
        check(subject, SOLUTION,
              verdict.fits && verdict.time_us == subject->exercise->optimum_us &&
                  strcmp(verdict.hint, "no schedule is faster") == 0);
        judge_spoiled(subject, start);
        judge_spoiled(subject, solution);
    }
    vbs_schedule_free(start);
    vbs_schedule_free(solution);
}

static void check_exercise(struct subject *subject, bool slowly)
{
    bool made = vbs_exercise_new(&subject->ctx, subject->level, subject->seed,
                                 &subject->exercise) == VBS_OK;

    check(subject, MADE, made);
    if (!made)
        return;
    check_problem(subject, slowly);
    check_answers(subject);
    vbs_exercise_free(subject->exercise);
}

/* ---- refusals ---- */

static void refuses_other_answers(void)
{
    static const char *const OTHERS[] = {"alexnet",
                                         "",
                                         "exercise-6-6",
                                         "exercise-1-5",
                                         "exercise-6",
                                         "exercise-6-05",
                                         "exercise-7-5",
                                         "exercise-6-5x",
                                         "exercise-0-5",
                                         "exercise-6--5",
                                         "exercise-6-9999999999999999999999"};
    struct vbs_ctx ctx = {0};
    struct vbs_exercise *exercise = NULL, *untouched = NULL;
    struct vbs_schedule *start = NULL;
    struct vbs_exercise_verdict verdict;
    struct vbs_schedule other;

    ok(vbs_exercise_new(&ctx, 0, 1, &untouched) == VBS_USAGE &&
           vbs_exercise_new(&ctx, VBS_EXERCISE_LEVELS + 1, 1, &untouched) == VBS_USAGE &&
           vbs_exercise_new(&ctx, 1, -1, &untouched) == VBS_USAGE &&
           vbs_exercise_new(&ctx, 1, VBS_MAX_EXERCISE_SEED + 1, &untouched) == VBS_USAGE &&
           !untouched,
       "levels and seeds out of range are refused");
    ok(vbs_exercise_new(&ctx, 1, VBS_MAX_EXERCISE_SEED, &exercise) == VBS_OK,
       "the largest seed has an exercise");
    vbs_exercise_free(exercise);
    if (vbs_exercise_new(&ctx, 6, 5, &exercise) != VBS_OK ||
        vbs_exercise_start(&ctx, exercise, &start) != VBS_OK)
        bail_out("no exercise");
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++) {
        other = *start;
        other.model = OTHERS[i];
        ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID,
           "an answer to '%s' is refused: %s", OTHERS[i], vbs_detail(&ctx));
    }
    other = *start;
    other.memory_bytes++;
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID, "more memory: %s",
       vbs_detail(&ctx));
    other = *start;
    other.request--;
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID, "fewer samples: %s",
       vbs_detail(&ctx));
    other = *start;
    other.io = VBS_IO_RESIDENT;
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID, "another io: %s",
       vbs_detail(&ctx));
    other = *start;
    other.weights = VBS_WEIGHTS_EXCLUDED;
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID, "weights outside: %s",
       vbs_detail(&ctx));
    other = *start;
    other.provenance.hash = "0123456789abcdef0123456789abcdef";
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_INVALID, "another problem: %s",
       vbs_detail(&ctx));
    other = *start;
    other.copy.bytes_per_us = 1e9;
    ok(vbs_exercise_judge(&ctx, exercise, &other, &verdict) == VBS_OK && verdict.fits,
       "the link is that of the exercise, whatever the answer says");
    vbs_schedule_free(start);
    vbs_exercise_free(exercise);
}

/* ---- sheets ---- */

static void makes_sheets(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_exercise_sheet one = {0}, two = {0};

    for (int level = 1; level <= VBS_EXERCISE_LEVELS; level++) {
        bool made = vbs_exercise_sheet_make(&ctx, level, 3, 30, &one) == VBS_OK &&
                    vbs_exercise_sheet_make(&ctx, level, 3, 30, &two) == VBS_OK;

        ok(made && strcmp(one.text, two.text) == 0 && strcmp(one.key, two.key) == 0 &&
               count(one.text, "## Variant ") == 30 && count(one.key, "\n| ") == 2 + 30,
           "a sheet of level %d is the same twice, with 30 variants and a key to each", level);
        ok(made && !strstr(one.text, "optimum"), "the sheet does not have the key's times");
        vbs_exercise_sheet_clear(&one);
        vbs_exercise_sheet_clear(&two);
    }
    ok(vbs_exercise_sheet_make(&ctx, 1, 1, 0, &one) == VBS_USAGE &&
           vbs_exercise_sheet_make(&ctx, 1, 1, VBS_MAX_SHEET + 1, &one) == VBS_USAGE &&
           vbs_exercise_sheet_make(&ctx, 1, -1, 1, &one) == VBS_USAGE &&
           vbs_exercise_sheet_make(&ctx, 1, VBS_MAX_EXERCISE_SEED / 1000, 1, &one) == VBS_USAGE &&
           vbs_exercise_sheet_make(&ctx, 9, 1, 1, &one) == VBS_USAGE && !one.text && !one.key,
       "sheets out of range are refused");
    ok(vbs_exercise_variant(3001) == 1 && vbs_exercise_variant(3999) == 999 &&
           vbs_exercise_variant(3000) == 0 && vbs_exercise_variant(7) == 7 &&
           vbs_exercise_variant(-1) == 0,
       "a seed has the number of its variant");
}

static void makes_classes(void)
{
    static const char *const NAMES[] = {"Ann Lee", "../../<b>|`x`", "...", "-\xc3\xa4 \xe2\x80\xae",
                                        "Ann Lee"};
    struct vbs_ctx ctx = {0};
    struct vbs_exercise_class made = {0};
    struct vbs_exercise_sheet sheet = {0};
    char *row;

    if (vbs_exercise_class_make(&ctx, 2, 3, NAMES, 5, &made) != VBS_OK ||
        vbs_exercise_sheet_make(&ctx, 2, 3, 5, &sheet) != VBS_OK)
        bail_out("%s", ctx.detail);
    ok(strcmp(made.handouts[0].file, "001-Ann_Lee") == 0, "a student's files have number and name");
    ok(strcmp(made.handouts[1].file, "002-b_x") == 0, "of any name what files may be called");
    ok(strcmp(made.handouts[2].file, "003") == 0, "which may be nothing");
    ok(strcmp(made.handouts[3].file, "004--\xc3\xa4") == 0, "letters of all languages");
    ok(strcmp(made.handouts[4].file, "005-Ann_Lee") == 0, "the same name twice gives two files");
    ok(strstr(made.handouts[1].text, "\nFor ..\\/..\\/\\<b\\>\\|\\`x\\`\n") &&
           strstr(made.handouts[1].text, "# Exercise: level 2, seed 3002\n") &&
           strstr(made.handouts[1].text, "`002-b_x.json`"),
       "a name is plain text in Markdown");
    ok(!strstr(made.key, "\xe2\x80\xae") && count(made.key, "\n| ") == 2 + 5,
       "the key has a row for each, without marks that turn the text");
    row = strstr(sheet.key, "3001 | ");
    ok(row && strstr(made.key, "| 1 | Ann Lee | 001-Ann_Lee | 3001 | ") &&
           strncmp(strstr(made.key, "3001 | "), row, strcspn(row, "\n")) == 0,
       "and the problems of the sheet");
    vbs_exercise_class_clear(&made);
    vbs_exercise_sheet_clear(&sheet);
    ok(vbs_exercise_class_make(&ctx, 1, 1, NAMES, 0, &made) == VBS_USAGE &&
           vbs_exercise_class_make(&ctx, 1, -1, NAMES, 1, &made) == VBS_USAGE && !made.handouts,
       "classes out of range are refused");
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_SEEDS, SEED, "exercises of each level");
    struct subject subject = {.rng = gsl_rng_alloc(gsl_rng_mt19937)};

    if (!subject.rng)
        bail_out("out of memory");
    gsl_rng_set(subject.rng, trials.seed);
    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, &subject);
    for (subject.level = 1; subject.level <= VBS_EXERCISE_LEVELS; subject.level++)
        for (subject.seed = 0; subject.seed < trials.n; subject.seed++)
            check_exercise(&subject, subject.seed < N_SLOW);
    tally_report(&subject.tally, "exercises");
    refuses_other_answers();
    makes_sheets();
    makes_classes();
    gsl_rng_free(subject.rng);
    return done_testing();
}
