/* exercise --students: a problem for each student of a list of names, and the key. */
#include "base/fail.h"
#include "base/utf8.h"
#include "cli/exercise/exercise.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LIST_BYTES ((size_t)1 << 20)
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A list of students. */
struct list {
    char *text;                       /* of the file; names end with a zero */
    const char *names[VBS_MAX_SHEET]; /* in text */
    int lines[VBS_MAX_SHEET];         /* where they stand, from 1 */
    int n;
};

/* Takes the blanks off both ends of a name. */
static char *trim(char *name)
{
    size_t length;

    name += strspn(name, " \t\r");
    length = strlen(name);
    while (length > 0 && strchr(" \t\r", name[length - 1]))
        length--;
    name[length] = '\0';
    return name;
}

static void warn_of_twins(struct cli *cli, const struct list *list)
{
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(list->names[i], list->names[j]) == 0) {
                cli_warn(cli, "lines %d and %d have the same name; each gets a problem",
                         list->lines[j], list->lines[i]);
                break;
            }
}

/* Finds the names in the text, one on each line; empty lines count for nothing. */
static enum vbs_status split_list(struct cli *cli, const char *source, struct list *list)
{
    char *line = list->text, *next;

    if (strncmp(line, BYTE_ORDER_MARK, 3) == 0)
        line += 3;
    for (int number = 1; line; line = next, number++) {
        char *end = strchr(line, '\n'), *name;

        next = end ? end + 1 : NULL;
        if (end)
            *end = '\0';
        name = trim(line);
        if (!name[0])
            continue;
        if (!vbs_utf8_valid(name))
            return vbs_fail(&cli->ctx, VBS_FORMAT, "%s:%d: the name is no UTF-8", source, number);
        if (list->n == VBS_MAX_SHEET)
            return vbs_fail(&cli->ctx, VBS_FORMAT, "%s:%d: more than %d names", source, number,
                            VBS_MAX_SHEET);
        list->lines[list->n] = number;
        list->names[list->n++] = name;
    }
    if (list->n == 0)
        return vbs_fail(&cli->ctx, VBS_FORMAT,
                        "%s: has no names; it needs one for each student, each on its line",
                        source);
    return VBS_OK;
}

static enum vbs_status read_list(struct cli *cli, const char *path, struct list *list)
{
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    size_t length;

    VBS_TRY(vbs_read_file(&cli->ctx, path, MOST_LIST_BYTES, &list->text, &length));
    if (strlen(list->text) < length)
        return vbs_fail(&cli->ctx, VBS_FORMAT, "%s: is no text: it has a zero byte", source);
    return split_list(cli, source, list);
}

static enum vbs_status write_handout(struct cli *cli, const char *folder,
                                     const struct vbs_exercise_handout *handout)
{
    struct vbs_text path = {0};
    enum vbs_status status = VBS_OK;

    vbs_text_addf(&path, "%s/%s.md", folder, handout->file);
    if (!path.failed)
        status = vbs_write_file(&cli->ctx, path.data, handout->text, strlen(handout->text));
    vbs_text_clear(&path);
    vbs_text_addf(&path, "%s/%s.json", folder, handout->file);
    if (path.failed)
        status = vbs_no_memory(&cli->ctx);
    if (status == VBS_OK)
        status = vbs_schedule_write_json(&cli->ctx, handout->start, path.data);
    vbs_text_clear(&path);
    return status;
}

/* Writes the key before the problems: they are never there without it. */
static enum vbs_status write_class(struct cli *cli, const struct vbs_exercise_class *made,
                                   const char *folder, const char *key)
{
    VBS_TRY(cli_make_folder(cli, folder));
    VBS_TRY(vbs_write_file(&cli->ctx, key, made->key, strlen(made->key)));
    for (int i = 0; i < made->n; i++)
        VBS_TRY(write_handout(cli, folder, &made->handouts[i]));
    cli_note(cli, "%d problems in '%.200s', their key in '%.200s'", made->n, folder, key);
    return VBS_OK;
}

enum vbs_status exercise_write_class(struct cli *cli, const char *const *values,
                                     const struct exercise_words *words)
{
    const char *folder = cli_value(cli, values, "output"), *key = cli_value(cli, values, "key");
    struct vbs_exercise_class made = {0};
    struct list list = {0};
    struct vbs_text name = {0};
    enum vbs_status status = read_list(cli, cli_value(cli, values, "students"), &list);

    if (!key)
        exercise_name_key(folder, true, &name);
    if (status == VBS_OK && name.failed)
        status = vbs_no_memory(&cli->ctx);
    if (status == VBS_OK)
        status = vbs_exercise_class_make(&cli->ctx, (int)words->level, words->seed, list.names,
                                         list.n, &made);
    if (status == VBS_OK)
        status = write_class(cli, &made, folder, key ? key : name.data);
    if (status == VBS_OK)
        warn_of_twins(cli, &list);
    vbs_exercise_class_clear(&made);
    vbs_text_clear(&name);
    free(list.text);
    return status;
}
