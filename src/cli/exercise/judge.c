/* Reads an answer and judges it. */
#include "base/fail.h"
#include "base/sha256.h"
#include "base/text.h"
#include "cli/exercise/exercise.h"
#include "cli/print/print.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ANSWER_BYTES ((size_t)1 << 20)

/* Makes the exercise that the command line names, or else the one that the answer does. */
static enum vbs_status find_exercise(struct cli *cli, const struct exercise_words *words,
                                     const struct vbs_schedule *answer,
                                     struct vbs_exercise **exercise)
{
    int level;
    int64_t seed;

    VBS_TRY(vbs_exercise_of(&cli->ctx, answer, &level, &seed));
    return vbs_exercise_new(&cli->ctx, words->names_level ? (int)words->level : level,
                            words->names_seed ? words->seed : seed, exercise);
}

static enum vbs_status read_answer(struct cli *cli, const char *path, const char *source,
                                   struct vbs_schedule **answer)
{
    char *text;
    size_t length;
    enum vbs_status status;

    VBS_TRY(vbs_read_file(&cli->ctx, path, MOST_ANSWER_BYTES, &text, &length));
    status = vbs_schedule_parse_json(&cli->ctx, source, text, length, answer);
    free(text);
    return status;
}

/* Hashes what the steps of an answer do: the order, batches, algorithms and loads. */
static void hash_steps(const struct vbs_schedule *answer, char text[EXERCISE_STEPS_SIZE])
{
    struct vbs_sha256 hash;

    vbs_sha256_begin(&hash);
    for (int64_t i = 0; i < answer->n_steps; i++) {
        const struct vbs_step *step = &answer->steps[i];
        const int64_t numbers[] = {step->op,   step->layer, step->batch,    step->row,
                                   step->rows, step->slice, step->n_slices, step->resident};

        vbs_sha256_add(&hash, numbers, sizeof numbers);
        if (step->op == VBS_STEP_COMPUTE) {
            const char *algorithm = answer->algorithms[step->algorithm];

            vbs_sha256_add(&hash, algorithm, strlen(algorithm) + 1);
        }
    }
    vbs_sha256_end_text(&hash, text, EXERCISE_STEPS_SIZE);
}

/* Returns the number that begins the name of a file, as handouts have one, "007-Ann_Lee.json":
 * three digits, and a dash or the ending behind them; 0: it has none. */
static int variant_of_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

    for (int i = 0; i < 3; i++)
        if (!isdigit((unsigned char)name[i]))
            return 0;
    return name[3] == '-' || name[3] == '.' ? atoi(name) : 0;
}

static int find_contradiction(const char *path, const struct vbs_exercise *exercise)
{
    int named = variant_of_name(path), variant = vbs_exercise_variant(exercise->seed);

    return variant > 0 && named != variant ? named : 0;
}

enum vbs_status exercise_judge(struct cli *cli, const struct exercise_words *words,
                               const char *path, struct exercise_judged *judged)
{
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    struct vbs_schedule *answer = NULL;
    enum vbs_status status;

    VBS_TRY(read_answer(cli, path, source, &answer));
    hash_steps(answer, judged->steps);
    status = find_exercise(cli, words, answer, &judged->exercise);
    if (status == VBS_OK && !words->names_seed)
        judged->named_variant = find_contradiction(path, judged->exercise);
    if (status == VBS_OK)
        status = vbs_exercise_judge(&cli->ctx, judged->exercise, answer, &judged->verdict);
    if (status == VBS_INVALID)
        status = vbs_fail_within(&cli->ctx, status, source);
    vbs_schedule_free(answer);
    return status;
}

void exercise_judged_clear(struct exercise_judged *judged)
{
    vbs_exercise_free(judged->exercise);
    *judged = (struct exercise_judged){0};
}

bool exercise_is_optimal(const struct exercise_judged *judged)
{
    return judged->verdict.fits && judged->verdict.time_us <= judged->exercise->optimum_us;
}

double exercise_gap_percent(const struct exercise_judged *judged)
{
    double optimum_us = judged->exercise->optimum_us;

    return 100 * (judged->verdict.time_us - optimum_us) / optimum_us;
}

void exercise_put_verdict(json_t *object, const struct exercise_judged *judged, bool *failed)
{
    const struct vbs_exercise *exercise = judged->exercise;
    const struct vbs_exercise_verdict *verdict = &judged->verdict;

    cli_json_put(object, "level", json_integer(exercise->level), failed);
    cli_json_put(object, "seed", json_integer(exercise->seed), failed);
    cli_json_put(object, "valid", json_boolean(verdict->is_schedule), failed);
    cli_json_put(object, "fits", json_boolean(verdict->fits), failed);
    cli_json_put(object, "optimal", json_boolean(exercise_is_optimal(judged)), failed);
    cli_json_put(object, "step", verdict->step ? json_integer(verdict->step) : json_null(), failed);
    cli_json_put(object, "reason", verdict->reason[0] ? json_string(verdict->reason) : json_null(),
                 failed);
    cli_json_put(object, "time_us",
                 verdict->is_schedule ? json_real(verdict->time_us) : json_null(), failed);
    cli_json_put(object, "peak_bytes",
                 verdict->is_schedule ? json_integer(verdict->peak_bytes) : json_null(), failed);
    cli_json_put(object, "memory_bytes", json_integer(exercise->memory_bytes), failed);
    cli_json_put(object, "optimum_us", json_real(exercise->optimum_us), failed);
    cli_json_put(object, "gap_percent",
                 verdict->fits ? json_real(exercise_gap_percent(judged)) : json_null(), failed);
    cli_json_put(object, "hint", json_string(verdict->hint), failed);
}

void exercise_put_named(json_t *object, const struct exercise_judged *judged, bool *failed)
{
    cli_json_put(object, "named_variant",
                 judged->named_variant ? json_integer(judged->named_variant) : json_null(), failed);
}
