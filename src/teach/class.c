/*
 * A problem for each student of a class. Names come from a list that may hold anything: in Markdown
 * all their punctuation is escaped, and in names of files it becomes "_". The number before the
 * name makes names of files different, and keeps dashes from their beginning.
 */
#include "teach/teach.h"

#include "base/fail.h"
#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 100 /* characters of a name in Markdown */
#define FILE_LIMIT 40  /* and in the name of a file */

/* Appends a name as plain text of Markdown. */
static void add_plain(struct vbs_text *text, const char *name)
{
    char shown[VBS_UTF8_SHOWN];

    for (int left = NAME_LIMIT; *name && left > 0; left--) {
        name += vbs_utf8_show(name, shown);
        for (const char *c = shown; *c; c++) {
            if ((unsigned char)*c < 0x80 && ispunct((unsigned char)*c) && !strchr(",.'-()", *c))
                vbs_text_add(text, "\\");
            vbs_text_add_bytes(text, c, 1);
        }
    }
    vbs_text_add(text, *name ? "..." : "");
}

/* Appends "-" and the letters, digits and dashes of a name; what is between them becomes "_", and a
 * name that has none of them nothing. */
static void add_file_name(struct vbs_text *text, const char *name)
{
    const char *before = "-";
    bool has_gap = false;

    for (int left = FILE_LIMIT; *name && left > 0; left--) {
        char shown[VBS_UTF8_SHOWN];
        unsigned char first;

        name += vbs_utf8_show(name, shown);
        first = (unsigned char)shown[0];
        if (first < 0x80 && !isalnum(first) && first != '-') {
            has_gap = true;
            continue;
        }
        vbs_text_add(text, before[0] || !has_gap ? before : "_");
        vbs_text_add(text, shown);
        before = "";
        has_gap = false;
    }
}

/* Names the files of a student: "007-Ann_Lee". */
static enum vbs_status name_file(struct vbs_ctx *ctx, int number, const char *name, char **file)
{
    struct vbs_text text = {0};

    vbs_text_addf(&text, "%03d", number);
    add_file_name(&text, name);
    if (text.failed) {
        vbs_text_clear(&text);
        return vbs_no_memory(ctx);
    }
    *file = text.data;
    return VBS_OK;
}

static enum vbs_status write_problem(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                     const char *name, const char *file, char **result)
{
    struct vbs_text text = {0};

    vbs_text_addf(&text, "# Exercise: level %d, seed %" PRId64 "\n\nFor ", exercise->level,
                  exercise->seed);
    add_plain(&text, name);
    vbs_text_add(&text, "\n\n");
    vbs_teach_add_problem(&text, exercise);
    vbs_text_addf(&text,
                  "\n`%s.json` is an answer to start from; change its steps.\n"
                  "`vbslab exercise --check %s.json` judges it.\n",
                  file, file);
    if (text.failed) {
        vbs_text_clear(&text);
        return vbs_no_memory(ctx);
    }
    *result = text.data;
    return VBS_OK;
}

static enum vbs_status add_student(struct vbs_ctx *ctx, struct vbs_exercise_class *made,
                                   struct vbs_text *key, const struct vbs_exercise *exercise,
                                   const char *name)
{
    int number = made->n + 1;
    struct vbs_exercise_handout *handout = &made->handouts[made->n++];

    VBS_TRY(name_file(ctx, number, name, &handout->file));
    VBS_TRY(write_problem(ctx, exercise, name, handout->file, &handout->text));
    VBS_TRY(vbs_exercise_start(ctx, exercise, &handout->start));
    vbs_text_addf(key, "| %d | ", number);
    add_plain(key, name);
    vbs_text_addf(key, " | %s | ", handout->file);
    return vbs_teach_add_to_key(ctx, key, exercise);
}

enum vbs_status vbs_exercise_class_make(struct vbs_ctx *ctx, int level, int64_t seed,
                                        const char *const *names, int n,
                                        struct vbs_exercise_class *made)
{
    struct vbs_exercise_class all = {0};
    struct vbs_text key = {0};
    enum vbs_status status = vbs_teach_check_sheet(ctx, seed, n);

    if (status == VBS_OK) {
        vbs_teach_begin_key(&key, level, seed, n, true);
        all.handouts = calloc((size_t)n, sizeof *all.handouts);
        status = all.handouts ? VBS_OK : vbs_no_memory(ctx);
    }
    for (int i = 0; i < n && status == VBS_OK; i++) {
        struct vbs_exercise *exercise = NULL;

        status = vbs_exercise_new(ctx, level, vbs_teach_variant_seed(seed, i + 1), &exercise);
        if (status == VBS_OK)
            status = add_student(ctx, &all, &key, exercise, names[i]);
        vbs_exercise_free(exercise);
    }
    if (status == VBS_OK && key.failed)
        status = vbs_no_memory(ctx);
    if (status == VBS_OK) {
        all.key = key.data;
        *made = all;
        return VBS_OK;
    }
    vbs_text_clear(&key);
    vbs_exercise_class_clear(&all);
    return status;
}

void vbs_exercise_class_clear(struct vbs_exercise_class *made)
{
    for (int i = 0; i < made->n; i++) {
        free(made->handouts[i].file);
        free(made->handouts[i].text);
        vbs_schedule_free(made->handouts[i].start);
    }
    free(made->handouts);
    free(made->key);
    *made = (struct vbs_exercise_class){0};
}
