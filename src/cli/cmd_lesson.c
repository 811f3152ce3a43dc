/* The lessons of the course, as text or as pages. */
#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum vbs_status list_lessons(struct cli *cli)
{
    struct vbs_lesson lesson;

    printf("the course, of which 'vbslab lesson N' opens lesson N, with --html as a page:\n\n");
    for (int number = 1; number <= VBS_LESSONS; number++) {
        VBS_TRY(vbs_lesson_open(&cli->ctx, number, &lesson));
        printf("  %s\n", lesson.title);
    }
    return VBS_OK;
}

static enum vbs_status open_lesson(struct cli *cli, int64_t number, bool is_page, const char *path)
{
    struct vbs_lesson lesson;
    const char *text;

    VBS_TRY(vbs_lesson_open(&cli->ctx, number, &lesson));
    text = is_page ? lesson.page : lesson.text;
    if (path && strcmp(path, "-") != 0)
        return vbs_write_file(&cli->ctx, path, text, strlen(text));
    fputs(text, stdout);
    return VBS_OK;
}

static enum vbs_status write_page(struct cli *cli, const char *folder, int64_t number)
{
    char name[VBS_LESSON_FILE_SIZE], *page = NULL;
    struct vbs_text path = {0};
    enum vbs_status status = vbs_lesson_linked_page(&cli->ctx, number, &page);

    vbs_text_addf(&path, "%s/%s", folder, vbs_lesson_file(number, name));
    if (status == VBS_OK && path.failed)
        status = vbs_no_memory(&cli->ctx);
    if (status == VBS_OK)
        status = vbs_write_file(&cli->ctx, path.data, page, strlen(page));
    vbs_text_clear(&path);
    free(page);
    return status;
}

/* Writes the pages of all lessons into a folder, with links between them, and one that lists them.
 */
static enum vbs_status write_course(struct cli *cli, const char *folder)
{
    char name[VBS_LESSON_FILE_SIZE];

    VBS_TRY(cli_make_folder(cli, folder));
    for (int number = 1; number <= VBS_LESSONS; number++)
        VBS_TRY(write_page(cli, folder, number));
    VBS_TRY(write_page(cli, folder, 0));
    cli_note(cli, "the course begins with '%.200s/%s'", folder, vbs_lesson_file(0, name));
    return VBS_OK;
}

/* Runs the command without the number of a lesson. */
static int run_course(struct cli *cli, bool is_page, const char *path)
{
    if (!is_page)
        return path ? cli_usage(cli, "--output needs the number of a lesson")
                    : cli_end(cli, list_lessons(cli));
    if (!path || strcmp(path, "-") == 0)
        return cli_usage(cli, "--html of all lessons needs -o FOLDER; of one lesson its number");
    if (cli_ends_in(path, ".html"))
        return cli_usage(cli,
                         "'%s' would be the folder of all lessons; one page is that of a "
                         "lesson's number",
                         path);
    return cli_end(cli, write_course(cli, path));
}

static int run_lesson(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    const char *path = cli_value(cli, values, "output");
    bool is_page = cli_value(cli, values, "html") != NULL;
    enum vbs_status status;
    int64_t number;

    if (n_arguments > 1)
        return cli_usage(cli, "takes one N at most, got %d", n_arguments);
    if (n_arguments == 0)
        return run_course(cli, is_page, path);
    if (path && !is_page && cli_ends_in(path, ".html"))
        return cli_usage(cli, "'%s' is to be a page; that needs --html", path);
    status = vbs_parse_int(&cli->ctx, "lesson", arguments[0], 1, VBS_LESSONS, &number);
    if (status == VBS_OK && is_page && path && strcmp(path, "-") != 0)
        status = cli_check_output(cli, "", path, ".html", "a page");
    if (status == VBS_OK)
        status = open_lesson(cli, number, is_page, path);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"html", NULL,
     "one page of HTML with its pictures inside, which needs nothing else; without N all lessons"},
    {"output", "FILE",
     "write it to FILE, a page to FILE.html; - is standard output (default); of all lessons: their "
     "folder, which is made"},
    {0},
};

const struct cli_command cli_lesson = {
    .name = "lesson",
    .summary = "a course in seven lessons, with exercises: the list, or lesson N",
    .usage = "[N] [--html] [-o FILE] | --html -o FOLDER",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .example = "vbslab lesson 1 | less\n"
               "vbslab lesson 1 --html -o lesson.html\n"
               "vbslab lesson --html -o course",
    .run = run_lesson,
};
