/*
 * Every allocation of exercises, of their texts, answers, judge and sheets, and of profiles to
 * teach with, fails once, and then also every one after it: the call reports it and gives nothing.
 */
#include "support/bail_out.h"
#include "support/fault.h"
#include "support/tap.h"

#include "vbslab/teach.h"

#include <stdlib.h>
#include <string.h>

#define SEED 17

struct subject {
    struct vbs_exercise *exercise;
    struct vbs_schedule *answer; /* to start from */
};

static enum vbs_status load(struct vbs_ctx *ctx, const void *subject)
{
    struct vbs_profile *profile = (void *)&fault_untouched;
    enum vbs_status status = vbs_teaching_profile_load(ctx, "vbs-example", &profile);

    (void)subject;
    if (status != VBS_OK)
        return fault_status(status, profile);
    vbs_profile_free(profile);
    return VBS_OK;
}

static enum vbs_status make(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_exercise *exercise = (void *)&fault_untouched;
    enum vbs_status status = vbs_exercise_new(ctx, subject->exercise->level, SEED, &exercise);
    bool same;

    if (status != VBS_OK)
        return fault_status(status, exercise);
    same = exercise->optimum_us == subject->exercise->optimum_us;
    vbs_exercise_free(exercise);
    return same ? VBS_OK : VBS_N_STATUS;
}

static enum vbs_status write_text(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    char *text = &fault_untouched;
    enum vbs_status status = vbs_exercise_text(ctx, subject->exercise, &text);

    if (status != VBS_OK)
        return fault_status(status, text);
    free(text);
    return VBS_OK;
}

static enum vbs_status start(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    enum vbs_status status = vbs_exercise_start(ctx, subject->exercise, &schedule);

    if (status != VBS_OK)
        return fault_status(status, schedule);
    vbs_schedule_free(schedule);
    return VBS_OK;
}

static enum vbs_status solve(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_schedule *schedule = (void *)&fault_untouched;
    enum vbs_status status = vbs_exercise_solution(ctx, subject->exercise, &schedule);

    if (status != VBS_OK)
        return fault_status(status, schedule);
    vbs_schedule_free(schedule);
    return VBS_OK;
}

static enum vbs_status judge(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_exercise_verdict verdict;
    enum vbs_status status = vbs_exercise_judge(ctx, subject->exercise, subject->answer, &verdict);

    return status == VBS_OK && !verdict.fits ? VBS_N_STATUS : status;
}

static enum vbs_status make_sheet(struct vbs_ctx *ctx, const void *self)
{
    const struct subject *subject = self;
    struct vbs_exercise_sheet sheet = {.text = &fault_untouched};
    enum vbs_status status =
        vbs_exercise_sheet_make(ctx, subject->exercise->level, SEED, 1, &sheet);

    if (status != VBS_OK)
        return fault_status(status, sheet.text);
    vbs_exercise_sheet_clear(&sheet);
    return VBS_OK;
}

static enum vbs_status make_class(struct vbs_ctx *ctx, const void *self)
{
    static const char *const NAMES[] = {"Ann Lee", "x"};
    const struct subject *subject = self;
    struct vbs_exercise_class made = {.key = &fault_untouched};
    enum vbs_status status =
        vbs_exercise_class_make(ctx, subject->exercise->level, SEED, NAMES, 2, &made);

    if (status != VBS_OK)
        return fault_status(status, made.key);
    vbs_exercise_class_clear(&made);
    return VBS_OK;
}

static enum vbs_status link_lesson(struct vbs_ctx *ctx, const void *self)
{
    char *page = &fault_untouched;
    enum vbs_status status;

    (void)self;
    status = vbs_lesson_linked_page(ctx, 0, &page);
    if (status != VBS_OK)
        return fault_status(status, page);
    free(page);
    return VBS_OK;
}

static const struct task {
    const char *name;
    enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject);
    bool once; /* it does not depend on the level */
} TASKS[] = {
    {"a profile to teach with", load, true},
    {"an exercise", make, false},
    {"its text", write_text, false},
    {"an answer to start from", start, false},
    {"the solution", solve, false},
    {"the judge", judge, false},
    {"a sheet", make_sheet, true},
    {"a class", make_class, true},
    {"the list of lessons", link_lesson, true},
};

static void level_fails(int level)
{
    struct subject subject = {0};
    struct vbs_ctx ctx = {0};

    if (vbs_exercise_new(&ctx, level, SEED, &subject.exercise) != VBS_OK ||
        vbs_exercise_start(&ctx, subject.exercise, &subject.answer) != VBS_OK)
        bail_out("level %d: %s", level, ctx.detail);
    for (size_t t = 0; t < sizeof TASKS / sizeof TASKS[0]; t++)
        for (int lasting = 0; lasting < 2 && (level == 1 || !TASKS[t].once); lasting++) {
            struct fault_trial trial = {
                .run = TASKS[t].run, .subject = &subject, .lasting = lasting};

            fault_each(&trial);
            ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK,
               "level %d, %s: %d allocations, %s", level, TASKS[t].name, trial.n_faults, trial.way);
        }
    vbs_schedule_free(subject.answer);
    vbs_exercise_free(subject.exercise);
}

int main(void)
{
    level_fails(1);
    level_fails(VBS_EXERCISE_LEVELS); /* weights inside the memory */
    return done_testing();
}
