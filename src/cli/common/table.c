#include "cli/common/table.h"

#include "base/fail.h"
#include "base/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define GAP 2 /* blanks between columns */

/* Columns on a terminal, a character each. */
static int width_of(const char *text)
{
    int width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool reserve_cell(struct cli_table *table)
{
    int capacity = table->capacity ? 2 * table->capacity : 64;
    char **cells;

    if (table->n_cells < table->capacity)
        return true;
    cells = realloc(table->cells, (size_t)capacity * sizeof *cells);
    if (!cells)
        return false;
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

/* Text as it may reach a terminal; null when memory is out. */
static char *make_visible(const char *text)
{
    struct vbs_text visible = {0};

    vbs_text_add(&visible, "");
    vbs_text_add_visible(&visible, text, INT_MAX);
    if (visible.failed)
        vbs_text_clear(&visible);
    return visible.data;
}

void cli_table_add(struct cli_table *table, const char *format, ...)
{
    va_list args;
    char *cell = NULL;

    if (table->failed)
        return;
    va_start(args, format);
    if (!reserve_cell(table) || vasprintf(&cell, format, args) < 0)
        table->failed = true;
    va_end(args);
    if (table->failed)
        return;
    table->cells[table->n_cells] = make_visible(cell);
    if (table->cells[table->n_cells])
        table->n_cells++;
    else
        table->failed = true;
    free(cell);
}

static int column_width(const struct cli_table *table, int column)
{
    int widest = width_of(table->columns[column].heading);

    for (int i = column; i < table->n_cells; i += table->n_columns) {
        int width = width_of(table->cells[i]);

        widest = width > widest ? width : widest;
    }
    return widest;
}

static void add_cell(struct vbs_text *text, const struct cli_column *column, int width,
                     const char *cell)
{
    int blanks = width - width_of(cell);

    vbs_text_addf(text, "%*s%s%*s", column->right ? blanks : 0, "", cell,
                  (column->right ? 0 : blanks) + GAP, "");
}

/* Without the blanks behind the last words. */
static void end_line(struct vbs_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
    vbs_text_add(text, "\n");
}

static void add_rows(struct vbs_text *text, const struct cli_table *table, const int *widths)
{
    for (int i = 0; i < table->n_columns; i++)
        add_cell(text, &table->columns[i], widths[i], table->columns[i].heading);
    for (int i = 0; i < table->n_cells; i++) {
        int column = i % table->n_columns;

        if (column == 0)
            end_line(text);
        add_cell(text, &table->columns[column], widths[column], table->cells[i]);
    }
    end_line(text);
}

static void clear(struct cli_table *table)
{
    for (int i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->n_cells = table->capacity = 0;
}

enum vbs_status cli_table_print(struct vbs_ctx *ctx, struct cli_table *table)
{
    int *widths = calloc((size_t)table->n_columns, sizeof *widths);
    struct vbs_text text = {.failed = !widths || table->failed};
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < table->n_columns && !text.failed; i++)
        widths[i] = column_width(table, i);
    if (!text.failed)
        add_rows(&text, table, widths);
    if (text.failed)
        status = vbs_no_memory(ctx);
    else
        fputs(text.data, stdout);
    vbs_text_clear(&text);
    free(widths);
    clear(table);
    return status;
}
