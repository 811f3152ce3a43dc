/* The cells of a notebook, and its file. */
#include "base/fail.h"
#include "base/json.h"
#include "cli/notebook/notebook.h"
#include "cli/print/print.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* A text as the list of its lines, each with its end; null where memory runs out or it is no UTF-8.
 */
static json_t *lines_of(const char *text, size_t length)
{
    json_t *lines = json_array();
    bool failed = !lines;

    while (length > 0 && !failed) {
        const char *end = memchr(text, '\n', length);
        size_t n = end ? (size_t)(end - text) + 1 : length;

        cli_json_append(lines, json_stringn(text, n), &failed);
        text += n;
        length -= n;
    }
    if (failed) {
        json_decref(lines);
        return NULL;
    }
    return lines;
}

/* Cells are numbered, so that the ids of a notebook that is exported again are the same. */
static void add_cell(struct notebook *notebook, const char *type, const char *text)
{
    bool is_code = strcmp(type, "code") == 0;
    size_t length;
    json_t *cell;
    char id[32];

    text += strspn(text, "\n");
    for (length = strlen(text); length > 0 && text[length - 1] == '\n';)
        length--;
    if (notebook->failed || length == 0)
        return;
    if (!notebook->cells)
        notebook->cells = json_array();
    snprintf(id, sizeof id, "cell-%d", ++notebook->n_cells);
    cell = json_object();
    cli_json_put(cell, "cell_type", json_string(type), &notebook->failed);
    cli_json_put(cell, "id", json_string(id), &notebook->failed);
    cli_json_put(cell, "metadata", json_object(), &notebook->failed);
    cli_json_put(cell, "source", lines_of(text, length), &notebook->failed);
    if (is_code) {
        cli_json_put(cell, "execution_count", json_null(), &notebook->failed);
        cli_json_put(cell, "outputs", json_array(), &notebook->failed);
    }
    cli_json_append(notebook->cells, cell, &notebook->failed);
}

void notebook_add_text(struct notebook *notebook, const char *markdown)
{
    add_cell(notebook, "markdown", markdown);
}

void notebook_add_code(struct notebook *notebook, const char *code)
{
    add_cell(notebook, "code", code);
}

/* What JSON escapes Python reads in the same way; all other characters stay as they are. */
void notebook_add_literal(struct vbs_text *code, const char *text)
{
    json_t *value = json_string(text);

    vbs_text_add_json(code, value, JSON_ENCODE_ANY);
    json_decref(value);
}

/* Appends the way from one folder to another place, both absolute and with a slash behind them. */
static void add_way(struct vbs_text *way, const char *from, const char *to)
{
    size_t common = 0;

    for (size_t i = 0; from[i] && from[i] == to[i]; i++)
        if (from[i] == '/')
            common = i + 1;
    for (const char *rest = from + common; (rest = strchr(rest, '/')) != NULL; rest++)
        vbs_text_add(way, "../");
    vbs_text_add(way, to + common);
    if (way->length == 0)
        vbs_text_add(way, "./");
    if (way->data)
        way->data[--way->length] = '\0';
}

/* Gives the absolute path of a file or folder, with a slash behind it; false where there is none.
 */
static bool absolute(const char *path, char out[PATH_MAX + 1])
{
    char whole[PATH_MAX];

    if (!realpath(path, whole))
        return false;
    snprintf(out, PATH_MAX + 1, "%s%s", whole, whole[1] ? "/" : "");
    return true;
}

enum vbs_status notebook_add_path(const struct notebook *notebook, struct vbs_text *code,
                                  const char *path)
{
    const char *slash = strrchr(notebook->path, '/');
    char folder[PATH_MAX], from[PATH_MAX + 1], to[PATH_MAX + 1];
    struct vbs_text way = {0};

    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - notebook->path + 1) : 1,
             slash ? notebook->path : ".");
    if (!absolute(folder, from))
        return vbs_fail(&notebook->cli->ctx, VBS_IO, "there is no folder '%.200s'", folder);
    if (!absolute(path, to))
        return vbs_fail(&notebook->cli->ctx, VBS_IO, "there is no '%.200s'", path);
    add_way(&way, from, to);
    if (way.data && !way.failed)
        notebook_add_literal(code, way.data);
    else
        code->failed = true;
    vbs_text_clear(&way);
    return VBS_OK;
}

static json_t *notebook_json(struct notebook *notebook)
{
    json_t *whole =
        json_pack("{s:{s:{s:s,s:s,s:s},s:{s:s}},s:i,s:i}", "metadata", "kernelspec", "display_name",
                  "Python 3", "language", "python", "name", "python3", "language_info", "name",
                  "python", "nbformat", 4, "nbformat_minor", 5);

    if (notebook->failed || !whole || json_object_set(whole, "cells", notebook->cells) != 0) {
        json_decref(whole);
        return NULL;
    }
    return whole;
}

enum vbs_status notebook_write(struct notebook *notebook)
{
    struct vbs_text text = {0};
    json_t *whole = notebook_json(notebook);
    enum vbs_status status;

    vbs_text_add_json(&text, whole, JSON_INDENT(1) | JSON_SORT_KEYS);
    vbs_text_add(&text, "\n");
    json_decref(whole);
    status = text.failed
                 ? vbs_no_memory(&notebook->cli->ctx)
                 : vbs_write_file(&notebook->cli->ctx, notebook->path, text.data, text.length);
    vbs_text_clear(&text);
    return status;
}

void notebook_clear(struct notebook *notebook)
{
    json_decref(notebook->cells);
    notebook->cells = NULL;
}
