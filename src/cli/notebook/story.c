/* Cells of an experiment: text with its links, figures, code, and the one that opens the tables. */
#include "base/fail.h"
#include "cli/notebook/notebook.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

const char *notebook_next_line(const char **at, size_t *length)
{
    const char *line = *at;

    if (!*line)
        return NULL;
    *length = strcspn(line, "\n");
    *at = line + *length + (line[*length] == '\n');
    return line;
}

bool notebook_begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

void notebook_end_text(struct notebook_story *story)
{
    if (story->text.data)
        notebook_add_text(story->notebook, story->text.data);
    story->notebook->failed |= story->text.failed;
    vbs_text_clear(&story->text);
}

/* --- links --- */

/* Appends the target of a link, which is seen from the experiment's folder, as it is seen from
 * notebooks-export/: another experiment becomes its notebook. */
static void add_target(struct notebook_story *story, const char *target, size_t length)
{
    const char *end = target + length;

    if (story->own || memchr(target, ':', length) || *target == '#' || *target == '/') {
        vbs_text_add_bytes(&story->text, target, length);
        return;
    }
    if (notebook_begins(target, "../../"))
        vbs_text_add_bytes(&story->text, target + 3, length - 3);
    else if (notebook_begins(target, "../") && !memchr(target + 3, '/', length - 3) &&
             !memchr(target + 3, '.', length - 3)) {
        vbs_text_add_bytes(&story->text, target + 3, (size_t)(end - target) - 3);
        vbs_text_add(&story->text, ".ipynb");
    } else {
        vbs_text_addf(&story->text, "../experiments/%s",
                      notebook_begins(target, "../") ? "" : story->name);
        vbs_text_add(&story->text, notebook_begins(target, "../") ? "" : "/");
        vbs_text_add_bytes(&story->text, target + (notebook_begins(target, "../") ? 3 : 0),
                           length - (notebook_begins(target, "../") ? 3 : 0));
    }
}

/* Appends a line with its links as they are seen from the notebook. */
static void add_line(struct notebook_story *story, const char *line, size_t length)
{
    const char *end = line + length;

    while (line < end) {
        const char *link = memmem(line, (size_t)(end - line), "](", 2);
        const char *close = link ? memchr(link, ')', (size_t)(end - link)) : NULL;

        if (!close)
            break;
        vbs_text_add_bytes(&story->text, line, (size_t)(link + 2 - line));
        add_target(story, link + 2, (size_t)(close - link) - 2);
        line = close;
    }
    vbs_text_add_bytes(&story->text, line, (size_t)(end - line));
    vbs_text_add(&story->text, "\n");
}

/* --- figures --- */

static bool is_shown(const struct notebook_story *story, const char *name)
{
    struct vbs_text key = {0};
    bool found;

    vbs_text_addf(&key, "/%s/", name);
    found = key.data && story->shown.data && strstr(story->shown.data, key.data);
    vbs_text_clear(&key);
    return found;
}

/* Adds the cell that draws a figure; *drawn: there is a script that does. Its first line says what
 * the figure shows. */
static enum vbs_status draw(struct notebook_story *story, const char *name, const char *what,
                            size_t length, bool *drawn)
{
    struct vbs_text file = {0}, code = {0};
    char *script = NULL;
    enum vbs_status status = VBS_OK;

    vbs_text_addf(&file, "%s.py", name);
    if (!file.failed)
        status = notebook_read(story->notebook->cli, story->folder, file.data, true, &script);
    *drawn = script != NULL;
    if (status == VBS_OK && script) {
        if (length > 0)
            vbs_text_addf(&code, "# %.*s\n", (int)length, what);
        vbs_text_add(&code, script);
        vbs_text_addf(&story->shown, story->shown.length ? "%s/" : "/%s/", name);
        story->notebook->failed |= code.failed || story->shown.failed;
        if (!code.failed)
            status = notebook_compute(story, code.data);
    }
    free(script);
    vbs_text_clear(&code);
    vbs_text_clear(&file);
    return status;
}

/* Takes the picture "![what](name.ending)" of a line. */
static enum vbs_status tell_picture(struct notebook_story *story, const char *line, size_t length)
{
    const char *what = line + 2, *end = line + length;
    const char *link = memmem(what, (size_t)(end - what), "](", 2);
    const char *close = link ? memchr(link, ')', (size_t)(end - link)) : NULL;
    char name[128];
    bool drawn = false;
    enum vbs_status status = VBS_OK;

    if (close && (size_t)(close - link) < sizeof name) {
        snprintf(name, sizeof name, "%.*s", (int)(close - link - 2), link + 2);
        name[strcspn(name, "./")] = '\0';
        status = draw(story, name, what, (size_t)(link - what), &drawn);
    }
    if (!drawn && status == VBS_OK)
        add_line(story, line + 1, length - 1); /* a link to the picture */
    return status;
}

enum vbs_status notebook_tell(struct notebook_story *story, const char *line, size_t length)
{
    if (length > 2 && line[0] == '!' && line[1] == '[')
        return tell_picture(story, line, length);
    if (length > 0 && line[0] == '#')
        notebook_end_text(story);
    add_line(story, line, length);
    return VBS_OK;
}

/* --- tables --- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void free_names(char **names, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* Gives the names of the files of the folder with this ending, sorted. */
static enum vbs_status files_with(struct notebook_story *story, const char *ending, char ***names,
                                  int64_t *n)
{
    struct vbs_ctx *ctx = &story->notebook->cli->ctx;
    int64_t capacity = 0;
    DIR *folder = opendir(story->folder);
    enum vbs_status status = VBS_OK;

    *names = NULL;
    *n = 0;
    if (!folder)
        return vbs_fail(ctx, VBS_IO, "cannot read the folder '%.200s'", story->folder);
    for (struct dirent *entry; status == VBS_OK && (entry = readdir(folder)) != NULL;) {
        char **more;

        if (!cli_ends_in(entry->d_name, ending))
            continue;
        if (*n == capacity) {
            capacity = capacity ? 2 * capacity : 16;
            more = realloc(*names, (size_t)capacity * sizeof *more);
            if (!more) {
                status = vbs_no_memory(ctx);
                break;
            }
            *names = more;
        }
        if (!((*names)[*n] = strdup(entry->d_name)))
            status = vbs_no_memory(ctx);
        else
            ++*n;
    }
    closedir(folder);
    if (*names)
        qsort(*names, (size_t)*n, sizeof **names, compare_names);
    return status;
}

/* Appends the literals of the tables that the template names in its line "-- tables: ", or of all
 * CSV files of the folder. */
static enum vbs_status add_tables(struct notebook_story *story, struct vbs_text *code)
{
    static const char TABLES[] = "-- tables: ";
    const char *list = strstr(story->template, TABLES);
    struct vbs_text word = {0};
    char **names;
    int64_t n;
    enum vbs_status status;

    if (!list) {
        status = files_with(story, ".csv", &names, &n);
        for (int64_t i = 0; i < n; i++) {
            vbs_text_add(code, i > 0 ? ", " : "");
            notebook_add_literal(code, names[i]);
        }
        free_names(names, n);
        return status;
    }
    list += strlen(TABLES);
    for (bool first = true; *list && *list != '\n'; first = false) {
        size_t length = strcspn(list, " \n");

        vbs_text_clear(&word);
        vbs_text_add_bytes(&word, list, length);
        vbs_text_add(code, first ? "" : ", ");
        if (word.data)
            notebook_add_literal(code, word.data);
        list += length + strspn(list + length, " ");
    }
    vbs_text_clear(&word);
    return VBS_OK;
}

static const char ABOUT[] = "This notebook was written by `vbslab export --notebook`; it needs the "
                            "Python package of vbslab,\n"
                            "pandas and matplotlib. The tables of the experiment are those of a "
                            "SQLite database in memory.\n"
                            "A cell with `experiment.answer` has the text of the answer, in which "
                            "a line with numbers is a\n"
                            "format of printf; the query below the line gives the numbers. "
                            "`experiment.sql` gives the result\n"
                            "of any query as a DataFrame.\n";

/* Adds the cell that opens the tables, before the first cell of code. */
static enum vbs_status set_up(struct notebook_story *story)
{
    struct notebook *notebook = story->notebook;
    struct vbs_text code = {0};
    enum vbs_status status;

    story->is_set_up = true;
    notebook_add_text(notebook, ABOUT);
    vbs_text_add(&code, "from matplotlib import pyplot\n"
                        "\n"
                        "import vbslab\n"
                        "from vbslab.experiment import Experiment, curves\n"
                        "\n"
                        "experiment = Experiment(");
    notebook_add_literal(&code, story->name);
    if (story->own) {
        vbs_text_add(&code, ", folder=");
        status = notebook_add_path(notebook, &code, story->folder);
        if (status != VBS_OK) {
            vbs_text_clear(&code);
            return status;
        }
    }
    vbs_text_add(&code, ").load(");
    status = add_tables(story, &code);
    vbs_text_add(&code, ")");
    notebook->failed |= code.failed;
    if (!code.failed)
        notebook_add_code(notebook, code.data);
    vbs_text_clear(&code);
    return status;
}

enum vbs_status notebook_compute(struct notebook_story *story, const char *code)
{
    enum vbs_status status = VBS_OK;

    notebook_end_text(story);
    if (!story->is_set_up)
        status = set_up(story);
    if (status == VBS_OK)
        notebook_add_code(story->notebook, code);
    return status;
}

enum vbs_status notebook_draw_others(struct notebook_story *story)
{
    char **names;
    int64_t n;
    enum vbs_status status = files_with(story, ".gp", &names, &n);

    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        bool drawn;

        names[i][strlen(names[i]) - 3] = '\0';
        if (!is_shown(story, names[i]))
            status = draw(story, names[i], names[i], strlen(names[i]), &drawn);
    }
    free_names(names, n);
    return status;
}
