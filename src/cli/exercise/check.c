/* exercise --check with one answer: its verdict and a hint. */
#include "base/fail.h"
#include "cli/exercise/exercise.h"
#include "cli/print/print.h"

static void print_verdict(struct cli *cli, const struct exercise_judged *judged)
{
    const struct vbs_exercise *exercise = judged->exercise;
    const struct vbs_exercise_verdict *verdict = &judged->verdict;

    cli_flow_begin(cli);
    printf("exercise of level %d, seed %lld: %lld samples in %lld units\n", exercise->level,
           (long long)exercise->seed, (long long)exercise->request,
           (long long)exercise->memory_bytes);
    printf("  valid    %s\n", verdict->is_schedule ? "yes" : "no");
    if (verdict->is_schedule) {
        printf("  fits     %s, the largest step takes %lld of %lld units\n",
               verdict->fits ? "yes" : "no", (long long)verdict->peak_bytes,
               (long long)exercise->memory_bytes);
        printf("  time     %g ms\n", verdict->time_us / 1000);
    }
    printf("  optimum  %g ms", exercise->optimum_us / 1000);
    if (exercise_is_optimal(judged))
        printf(": reached");
    else if (verdict->fits)
        printf(": the answer takes %.1f%% longer", exercise_gap_percent(judged));
    printf("\n  hint     %s\n", verdict->hint);
    if (judged->named_variant)
        printf("  name     the file is called like variant %d of a class; the answer is to variant "
               "%d\n",
               judged->named_variant, vbs_exercise_variant(exercise->seed));
    cli_flow_end(cli);
}

static enum vbs_status report(struct cli *cli, const struct exercise_judged *judged,
                              enum exercise_form form)
{
    const struct vbs_exercise_verdict *verdict = &judged->verdict;
    bool failed = false;

    if (form == EXERCISE_JSON) {
        json_t *object = json_object();

        cli_json_put(object, "format", json_string("vbslab-exercise-verdict-1"), &failed);
        exercise_put_verdict(object, judged, &failed);
        exercise_put_named(object, judged, &failed);
        VBS_TRY(cli_json_print(cli, object, failed));
    } else {
        print_verdict(cli, judged);
    }
    if (verdict->fits)
        return VBS_OK;
    return vbs_fail(&cli->ctx, verdict->is_schedule ? VBS_OVER_BUDGET : VBS_INVALID, "%s",
                    verdict->reason);
}

enum vbs_status exercise_check_one(struct cli *cli, const struct exercise_words *words,
                                   const char *path, enum exercise_form form)
{
    struct exercise_judged judged = {0};
    enum vbs_status status = exercise_judge(cli, words, path, &judged);

    if (status == VBS_OK)
        status = report(cli, &judged, form);
    exercise_judged_clear(&judged);
    return status;
}
