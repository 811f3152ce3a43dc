/* Sheets: many exercises of a level, and the key to them. */
#include "teach/teach.h"

#include "base/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SEEDS_OF_A_SHEET 1000

enum vbs_status vbs_teach_check_sheet(struct vbs_ctx *ctx, int64_t seed, int n)
{
    if (n < 1 || n > VBS_MAX_SHEET)
        return vbs_fail(ctx, VBS_USAGE, "a sheet of %d variants: it has 1 to %d", n, VBS_MAX_SHEET);
    if (seed < 0 || seed > VBS_MAX_EXERCISE_SEED / SEEDS_OF_A_SHEET - 1)
        return vbs_fail(ctx, VBS_USAGE,
                        "seed %" PRId64 " of a sheet is out of range; it goes from 0 to %" PRId64,
                        seed, VBS_MAX_EXERCISE_SEED / SEEDS_OF_A_SHEET - 1);
    return VBS_OK;
}

int64_t vbs_teach_variant_seed(int64_t seed, int variant)
{
    return SEEDS_OF_A_SHEET * seed + variant;
}

int vbs_exercise_variant(int64_t seed)
{
    return seed < 0 ? 0 : (int)(seed % SEEDS_OF_A_SHEET);
}

/* ---- keys ---- */

void vbs_teach_begin_key(struct vbs_text *key, int level, int64_t seed, int n, bool has_students)
{
    vbs_text_addf(key,
                  "# Key: level %d, sheet %" PRId64 "\n\n"
                  "The optimal time of each of the %d variants, the times of fbs-best (one batch "
                  "for all layers) and greedy-vbs, and one\nschedule that takes the optimal time: "
                  "`L2 x3` is layer 2 on 3 samples. There may be others.\n\n"
                  "| variant | %sseed | memory | optimum, ms | fbs-best, ms | greedy-vbs, ms | "
                  "schedule |\n"
                  "| ---: | %s---: | ---: | ---: | ---: | ---: | --- |\n",
                  level, seed, n, has_students ? "student | file | " : "",
                  has_students ? "--- | --- | " : "");
}

static void add_ms(struct vbs_text *text, double time_us)
{
    if (time_us == HUGE_VAL)
        vbs_text_add(text, "- | ");
    else
        vbs_text_addf(text, "%.4g | ", time_us / TEACH_UNIT_US);
}

enum vbs_status vbs_teach_add_to_key(struct vbs_ctx *ctx, struct vbs_text *key,
                                     const struct vbs_exercise *exercise)
{
    struct vbs_schedule *solution;

    VBS_TRY(vbs_exercise_solution(ctx, exercise, &solution));
    vbs_text_addf(key, "%" PRId64 " | %" PRId64 " | ", exercise->seed, exercise->memory_bytes);
    add_ms(key, exercise->optimum_us);
    add_ms(key, exercise->fbs_best_us);
    add_ms(key, exercise->greedy_us);
    vbs_teach_add_steps(key, solution);
    vbs_text_add(key, " |\n");
    vbs_schedule_free(solution);
    return VBS_OK;
}

/* ---- sheets ---- */

/* Both texts of a sheet while it is written. */
struct teach_pages {
    struct vbs_text sheet, key;
};

static void begin(struct teach_pages *pages, const struct vbs_exercise *first, int64_t seed, int n)
{
    vbs_text_addf(&pages->sheet, "# Exercises: level %d, sheet %" PRId64 "\n\nLevel %d: %s.\n\n",
                  first->level, seed, first->level, vbs_exercise_level_text(first->level));
    vbs_teach_add_rules(&pages->sheet, first);
    vbs_text_addf(&pages->sheet,
                  "\nAnswers are judged by `vbslab exercise --check answer.json`; `vbslab exercise "
                  "--level %d --seed SEED -o answer.json`\nwrites an answer to start from.\n",
                  first->level);
    vbs_teach_begin_key(&pages->key, first->level, seed, n, false);
}

static enum vbs_status add_variant(struct vbs_ctx *ctx, struct teach_pages *pages,
                                   const struct vbs_exercise *exercise, int number)
{
    vbs_text_addf(&pages->sheet, "\n## Variant %d: seed %" PRId64 "\n\n", number, exercise->seed);
    vbs_teach_add_given(&pages->sheet, exercise);
    vbs_text_addf(&pages->key, "| %d | ", number);
    return vbs_teach_add_to_key(ctx, &pages->key, exercise);
}

enum vbs_status vbs_exercise_sheet_make(struct vbs_ctx *ctx, int level, int64_t seed, int n,
                                        struct vbs_exercise_sheet *sheet)
{
    struct teach_pages pages = {.sheet = {0}, .key = {0}};
    enum vbs_status status = vbs_teach_check_sheet(ctx, seed, n);

    for (int i = 1; i <= n && status == VBS_OK; i++) {
        struct vbs_exercise *exercise = NULL;

        status = vbs_exercise_new(ctx, level, vbs_teach_variant_seed(seed, i), &exercise);
        if (status == VBS_OK && i == 1)
            begin(&pages, exercise, seed, n);
        if (status == VBS_OK)
            status = add_variant(ctx, &pages, exercise, i);
        vbs_exercise_free(exercise);
    }
    if (status == VBS_OK && (pages.sheet.failed || pages.key.failed))
        status = vbs_no_memory(ctx);
    if (status == VBS_OK) {
        *sheet = (struct vbs_exercise_sheet){.text = pages.sheet.data, .key = pages.key.data};
        return VBS_OK;
    }
    vbs_text_clear(&pages.sheet);
    vbs_text_clear(&pages.key);
    return status;
}

void vbs_exercise_sheet_clear(struct vbs_exercise_sheet *sheet)
{
    free(sheet->text);
    free(sheet->key);
    *sheet = (struct vbs_exercise_sheet){0};
}
