/* Exercises: small planning problems from a seed, and the judge of their answers. */
#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/exercise/exercise.h"
#include "cli/print/print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static enum vbs_status read_words(struct cli *cli, const char *const *values,
                                  struct exercise_words *words)
{
    *words = (struct exercise_words){.level = 1,
                                     .names_seed = cli_value(cli, values, "seed") != NULL,
                                     .names_level = cli_value(cli, values, "level") != NULL};
    VBS_TRY(cli_read_whole(cli, values, "level", 1, VBS_EXERCISE_LEVELS, &words->level));
    return cli_read_whole(cli, values, "seed", 0, VBS_MAX_EXERCISE_SEED, &words->seed);
}

/* ---- the problem as JSON ---- */

static json_t *rows_json(const struct vbs_profile *profile, int k, bool *failed)
{
    json_t *rows = json_array();

    for (int b = 0; b < profile->n_batches; b++) {
        int n_rows;
        const struct vbs_profile_row *row = vbs_profile_rows(profile, k, b, &n_rows);

        for (int i = 0; i < n_rows; i++)
            cli_json_append(rows,
                            json_pack("{s:i, s:s, s:f, s:I}", "batch", profile->batches[b],
                                      "algorithm", profile->algorithms[row[i].algorithm], "time_us",
                                      row[i].time_us, "ws_bytes", (json_int_t)row[i].ws_bytes),
                            failed);
    }
    return rows;
}

static json_t *layer_json(const struct vbs_profile *profile, int k, bool *failed)
{
    const struct vbs_profile_layer *layer = &profile->layers[k];
    json_t *object = json_object(), *inputs = json_array();

    for (int i = 0; i < layer->n_inputs; i++)
        cli_json_append(inputs, json_integer(layer->inputs[i]), failed);
    cli_json_put(object, "layer", json_integer(k), failed);
    cli_json_put(object, "name", json_string(layer->name), failed);
    cli_json_put(object, "inputs", inputs, failed);
    cli_json_put(object, "in_bytes", json_integer(layer->in_bytes), failed);
    cli_json_put(object, "out_bytes", json_integer(layer->out_bytes), failed);
    cli_json_put(object, "weight_bytes", json_integer(layer->weight_bytes), failed);
    cli_json_put(object, "rows", rows_json(profile, k, failed), failed);
    return object;
}

static json_t *problem_json(const struct vbs_exercise *exercise, bool *failed)
{
    const struct vbs_profile *profile = exercise->profile;
    json_t *object = json_object(), *layers = json_array(), *batches = json_array();

    for (int b = 0; b < profile->n_batches; b++)
        cli_json_append(batches, json_integer(profile->batches[b]), failed);
    for (int k = 1; k <= profile->n_layers; k++)
        cli_json_append(layers, layer_json(profile, k, failed), failed);
    cli_json_put(object, "format", json_string("vbslab-exercise-1"), failed);
    cli_json_put(object, "level", json_integer(exercise->level), failed);
    cli_json_put(object, "seed", json_integer(exercise->seed), failed);
    cli_json_put(object, "about", json_string(vbs_exercise_level_text(exercise->level)), failed);
    cli_json_put(object, "request", json_integer(exercise->request), failed);
    cli_json_put(object, "memory_bytes", json_integer(exercise->memory_bytes), failed);
    cli_json_put(object, "io", json_string(vbs_io_word(exercise->io)), failed);
    cli_json_put(object, "weights", json_string(vbs_weights_word(exercise->weights)), failed);
    if (exercise->weights == VBS_WEIGHTS_INCLUDED)
        cli_json_put(object, "copy",
                     json_pack("{s:s, s:f, s:f}", "source", exercise->copy.source, "latency_us",
                               exercise->copy.latency_us, "bytes_per_us",
                               exercise->copy.bytes_per_us),
                     failed);
    cli_json_put(object, "batches", batches, failed);
    cli_json_put(object, "layers", layers, failed);
    return object;
}

/* ---- exercise --seed ---- */

static enum vbs_status print_problem(struct cli *cli, const struct vbs_exercise *exercise,
                                     bool json)
{
    bool failed = false;
    char *text;

    if (json) {
        json_t *object = problem_json(exercise, &failed);

        return cli_json_print(cli, object, failed);
    }
    VBS_TRY(vbs_exercise_text(&cli->ctx, exercise, &text));
    fputs(text, stdout);
    free(text);
    return VBS_OK;
}

static enum vbs_status write_start(struct cli *cli, const struct vbs_exercise *exercise,
                                   const char *path)
{
    struct vbs_schedule *schedule;
    enum vbs_status status = vbs_exercise_start(&cli->ctx, exercise, &schedule);

    if (status != VBS_OK)
        return status;
    status = vbs_schedule_write_json(&cli->ctx, schedule, path);
    vbs_schedule_free(schedule);
    return status;
}

static enum vbs_status set(struct cli *cli, const char *const *values,
                           const struct exercise_words *words)
{
    const char *output = cli_value(cli, values, "output");
    const char *profile = cli_value(cli, values, "profile");
    struct vbs_exercise *exercise = NULL;
    enum vbs_status status = vbs_exercise_new(&cli->ctx, (int)words->level, words->seed, &exercise);

    if (status == VBS_OK && output)
        status = write_start(cli, exercise, output);
    if (status == VBS_OK && profile)
        status = vbs_profile_write_csv(&cli->ctx, exercise->profile, profile);
    if (status == VBS_OK)
        status = print_problem(cli, exercise, cli_value(cli, values, "json") != NULL);
    vbs_exercise_free(exercise);
    return status;
}

/* ---- the command ---- */

/* Checks which options go together; the exit code of wrong usage, or 0. */
static int check_usage(struct cli *cli, const char *const *values, int n_arguments,
                       const char *const *arguments)
{
    bool checks = cli_value(cli, values, "check"), sheet = cli_value(cli, values, "sheet");
    const char *students = cli_value(cli, values, "students");
    const char *output = cli_value(cli, values, "output"), *key = cli_value(cli, values, "key");
    const char *profile = cli_value(cli, values, "profile");

    if (n_arguments > 0 && !checks)
        return cli_usage(cli, "'%s': the command takes no arguments without --check", arguments[0]);
    if (checks && (sheet || students || output || profile))
        return cli_usage(cli,
                         "--check judges an answer and writes nothing: no --sheet, --students, "
                         "--output or --profile");
    if (cli_value(cli, values, "csv") && !checks)
        return cli_usage(cli, "--csv goes with --check");
    if (cli_value(cli, values, "csv") && cli_value(cli, values, "json"))
        return cli_usage(cli, "--json and --csv exclude each other");
    if (!checks && !cli_value(cli, values, "seed"))
        return cli_usage(cli, "needs --seed, or an answer to --check");
    if (sheet && students)
        return cli_usage(cli, "--sheet and --students exclude each other");
    if (key && !sheet && !students)
        return cli_usage(cli, "--key goes with --sheet and --students");
    if (students && (!output || strcmp(output, "-") == 0))
        return cli_usage(cli, "--students needs -o FOLDER, for a problem and an answer of each");
    if (students && key && strcmp(students, key) == 0)
        return cli_usage(cli, "--students and --key name the same file, '%.100s'", key);
    if ((sheet || students) && (cli_value(cli, values, "json") || profile))
        return cli_usage(cli, "a sheet is Markdown: no --json or --profile");
    if (sheet && !output)
        return cli_usage(cli, "a sheet needs -o FILE.md");
    if (sheet && strcmp(output, "-") == 0 && !key)
        return cli_usage(cli, "a sheet on standard output needs --key FILE.md");
    if (sheet && key && strcmp(output, key) == 0)
        return cli_usage(cli, "--output and --key name the same file, '%.100s'", key);
    if (!sheet && output && profile && strcmp(output, profile) == 0)
        return cli_usage(cli, "--output and --profile name the same file, '%.100s'", profile);
    if (!sheet && output && strcmp(output, "-") == 0)
        return cli_usage(cli, "the answer needs a file: standard output has the problem");
    return 0;
}

/* Judges the answers of --check and of the arguments; one alone gets its verdict and a hint, but
 * for --csv, which always has rows. */
static enum vbs_status check(struct cli *cli, const char *const *values,
                             const struct exercise_words *words, int n_arguments,
                             const char *const *arguments)
{
    enum exercise_form form = cli_value(cli, values, "json")  ? EXERCISE_JSON
                              : cli_value(cli, values, "csv") ? EXERCISE_CSV
                                                              : EXERCISE_TEXT;
    const char **paths;
    enum vbs_status status;

    if (n_arguments == 0 && form != EXERCISE_CSV)
        return exercise_check_one(cli, words, cli_value(cli, values, "check"), form);
    paths = calloc((size_t)n_arguments + 1, sizeof *paths);
    if (!paths)
        return vbs_no_memory(&cli->ctx);
    paths[0] = cli_value(cli, values, "check");
    for (int i = 0; i < n_arguments; i++)
        paths[i + 1] = arguments[i];
    status = exercise_check_class(cli, words, paths, n_arguments + 1, form);
    free(paths);
    return status;
}

static int run_exercise(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    struct exercise_words words;
    int code = check_usage(cli, values, n_arguments, arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    status = read_words(cli, values, &words);
    if (status == VBS_OK && cli_value(cli, values, "check"))
        status = check(cli, values, &words, n_arguments, arguments);
    else if (status == VBS_OK && cli_value(cli, values, "students"))
        status = exercise_write_class(cli, values, &words);
    else if (status == VBS_OK && cli_value(cli, values, "sheet"))
        status = exercise_write_sheet(cli, values, &words);
    else if (status == VBS_OK)
        status = set(cli, values, &words);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"seed", "S", "the number of the exercise: the same problem on every machine"},
    {"level", "L",
     "1 to 3: chains; 4: branches; 5: branches, inputs and outputs inside the memory; 6: weights "
     "inside the memory (default 1)"},
    {"output", "FILE",
     "write an answer to start from: valid, but slow; of a sheet: the sheet; of a class: its "
     "folder"},
    {"check", "ANSWER.json",
     "judge an answer; - is standard input. Further answers may follow, of a class: then each has "
     "a row, with its verdict, time, and the reason where it is wrong"},
    {"json", NULL, "print the problem, or the verdicts, as JSON"},
    {"csv", NULL, "with --check: print a row of CSV for each answer"},
    {"profile", "FILE.csv",
     "write the problem's profile too, for other commands; - is standard "
     "output"},
    {"sheet", "N", "write N variants of the level, with the seeds 1000 S + 1, 1000 S + 2, ..."},
    {"students", "NAMES.txt",
     "write a problem and an answer to start from for each student, with the seeds of a sheet, "
     "into the folder of --output; NAMES.txt has a name on each line, - is standard input"},
    {"key", "FILE.md",
     "the key of a sheet or a class: optimal times and schedules (default: sheet-key.md for "
     "sheet.md, class-key.md for the folder class)"},
    {0},
};

const struct cli_command cli_exercise = {
    .name = "exercise",
    .summary = "a small problem to plan by hand, and a judge of the answer",
    .usage = "--seed S [--level L] [-o ANSWER.json] | --check ANSWER.json... [--json|--csv] | "
             "--seed S --sheet N -o FILE.md | --seed S --students NAMES.txt -o FOLDER",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .example = "vbslab exercise --seed 7 --level 2 -o answer.json\n"
               "vbslab exercise --check answer.json\n"
               "vbslab exercise --check answers/*.json --csv > class.csv\n"
               "vbslab exercise --seed 1 --level 2 --sheet 30 -o sheet.md\n"
               "vbslab exercise --seed 1 --level 2 --students names.txt -o class",
    .run = run_exercise,
};
