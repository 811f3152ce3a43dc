#include "cli/print/table.h"

#include "base/grow.h"
#include "base/text.h"
#include "cli/print/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GAP   2 /* blanks between columns */
#define BOLD  "\033[1m"
#define PLAIN "\033[0m"

/* Gives the terminal columns of the first length bytes of text, one for each character. */
static int width_of_bytes(const char *text, int length)
{
    int width = 0;

    for (int i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

static int width_of(const char *text)
{
    return width_of_bytes(text, (int)strlen(text));
}

static bool reserve_cell(struct cli_table *table)
{
    return vbs_grow(NULL, &table->cells, &table->capacity, (int64_t)table->n_cells + 1,
                    sizeof *table->cells) == VBS_OK;
}

/* Makes control characters of text visible; null when memory is out. */
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

/* Adds the first length bytes of cell, filled up to the column's width. */
static void add_cell(struct vbs_text *text, const struct cli_column *column, int width,
                     const char *cell, int length)
{
    int blanks = width - width_of_bytes(cell, length);

    vbs_text_addf(text, "%*s%.*s%*s", column->right ? blanks : 0, "", length, cell,
                  (column->right ? 0 : blanks) + GAP, "");
}

/* Ends a line without blanks behind the last words. */
static void end_line(struct vbs_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
    vbs_text_add(text, "\n");
}

/* ---- How the columns lie ---- */

#define NARROWEST 16 /* least width to which wrapping narrows a column */

enum lie { ACROSS, BELOW, LEFT_OUT };

struct layout {
    int *widths;       /* of each column */
    enum lie *lies;    /* of each column */
    const char **rest; /* of each cell of a row, while it is printed */
};

/* Gives whether text is a blank and a word in parentheses, as behind the 2 of "2 (6x)". */
static bool is_remark(const char *text)
{
    return text[0] == ' ' && text[1] == '(' && text[strcspn(text + 1, " ")] == ')';
}

/* Gives the bytes up to the end of the next word, with blanks before it and a remark behind it. */
static int next_word(const char *text)
{
    size_t length = 0;

    do {
        length += strspn(text + length, " ");
        length += strcspn(text + length, " ");
    } while (is_remark(text + length));
    return (int)length;
}

/* Gives the bytes of text on the next line of a cell: as many words as fit, at least one. */
static int next_line(const char *text, int width)
{
    int length = next_word(text);

    while (text[length]) {
        int more = length + next_word(text + length);

        if (width_of_bytes(text, more) > width)
            break;
        length = more;
    }
    return length;
}

static int widest_word(const char *text)
{
    int widest = 0;

    while (*text) {
        int length = next_word(text), width = width_of_bytes(text, length);

        widest = width > widest ? width : widest;
        text += length;
        text += strspn(text, " ");
    }
    return widest;
}

/* Gives the least width that wrapping allows for a column: numbers, and the names of the rows, are
 * not divided. */
static int narrowest(const struct cli_table *table, const struct layout *layout, int column)
{
    int least = width_of(table->columns[column].heading);

    if (column == 0 || table->columns[column].right)
        return layout->widths[column];
    least = least > NARROWEST ? least : NARROWEST;
    for (int i = column; i < table->n_cells; i += table->n_columns) {
        int width = widest_word(table->cells[i]);

        least = width > least ? width : least;
    }
    return least < layout->widths[column] ? least : layout->widths[column];
}

/* Gives the width of a line with the columns that lie across. */
static int width_across(const struct cli_table *table, const struct layout *layout)
{
    int width = 0;

    for (int i = 0; i < table->n_columns; i++)
        if (layout->lies[i] == ACROSS)
            width += layout->widths[i] + (width > 0 ? GAP : 0);
    return width;
}

static bool is_spare(const struct cli_table *table, int column)
{
    return (table->spare >> column & 1) != 0;
}

/* Gives the column to take out of a line that is too wide, or -1. */
static int next_to_go(const struct cli_table *table, const struct layout *layout)
{
    int widest = -1;

    for (int i = table->n_columns - 1; i >= 0; i--)
        if (layout->lies[i] == ACROSS && is_spare(table, i))
            return i;
    for (int i = 1; i < table->n_columns; i++)
        if (layout->lies[i] == ACROSS &&
            (i > 1 || width_across(table, layout) == layout->widths[0] + GAP + layout->widths[1]) &&
            (widest < 0 || layout->widths[i] > layout->widths[widest]))
            widest = i;
    return widest;
}

/* Makes columns narrower, the widest first, until a line fits; nothing changes where it cannot. */
static void wrap_columns(const struct cli_table *table, int columns, struct layout *layout)
{
    int excess = width_across(table, layout) - columns, spare = 0;

    for (int i = 0; i < table->n_columns; i++)
        if (layout->lies[i] == ACROSS)
            spare += layout->widths[i] - narrowest(table, layout, i);
    for (; excess > 0 && spare >= excess; excess--, spare--) {
        int widest = -1;

        for (int i = 0; i < table->n_columns; i++)
            if (layout->lies[i] == ACROSS && layout->widths[i] > narrowest(table, layout, i) &&
                (widest < 0 || layout->widths[i] > layout->widths[widest]))
                widest = i;
        layout->widths[widest]--;
    }
}

/* Lays out the columns. columns: of the terminal; 0: any number. */
static void lay_out(const struct cli_table *table, int columns, struct layout *layout)
{
    int i;

    for (i = 0; i < table->n_columns; i++)
        layout->widths[i] = column_width(table, i);
    while (columns > 0 && width_across(table, layout) > columns &&
           (i = next_to_go(table, layout)) >= 0) {
        if (!is_spare(table, i))
            wrap_columns(table, columns, layout);
        if (width_across(table, layout) > columns)
            layout->lies[i] = is_spare(table, i) ? LEFT_OUT : BELOW;
    }
}

/* ---- Printing ---- */

#define INDENT 7 /* indent of lines below a row */

/* Adds the words of phrase from column *at on. A line that would be wider than columns, with a
 * colon or semicolon behind it, is ended before a word. */
static void add_words(struct vbs_text *text, const char *phrase, int columns, int *at)
{
    while (*phrase) {
        int length = (int)strcspn(phrase, " "), width = 0;

        for (int i = 0; i < length; i++)
            width += ((unsigned char)phrase[i] & 0xc0) != 0x80;
        if (*at > INDENT && *at + 1 + width >= columns) {
            end_line(text);
            vbs_text_addf(text, "%*s", INDENT, "");
            *at = INDENT;
        }
        vbs_text_addf(text, "%s%.*s", *at > INDENT ? " " : "", length, phrase);
        *at += width + (*at > INDENT);
        phrase += length;
        phrase += strspn(phrase, " ");
    }
}

/* Adds "heading: cell" of the columns that lie below, with semicolons between; empty cells are left
 * out. */
static void add_below(struct vbs_text *text, const struct cli_table *table,
                      const struct layout *layout, int first, int columns)
{
    int at = INDENT;

    for (int i = 0; i < table->n_columns; i++) {
        const char *cell = table->cells[first + i];

        if (layout->lies[i] != BELOW || cell[0] == '\0' || strcmp(cell, "-") == 0)
            continue;
        if (at == INDENT)
            vbs_text_addf(text, "%*s", INDENT, "");
        else
            vbs_text_add(text, ";");
        at += at > INDENT;
        add_words(text, table->columns[i].heading, columns, &at);
        if (table->columns[i].heading[0]) {
            vbs_text_add(text, ":");
            at++;
        }
        add_words(text, cell, columns, &at);
    }
    if (at > INDENT)
        end_line(text);
}

static void add_headings(struct vbs_text *text, const struct cli_table *table,
                         const struct layout *layout, bool colour)
{
    vbs_text_add(text, colour ? BOLD : "");
    for (int i = 0; i < table->n_columns; i++)
        if (layout->lies[i] == ACROSS)
            add_cell(text, &table->columns[i], layout->widths[i], table->columns[i].heading,
                     (int)strlen(table->columns[i].heading));
    end_line(text);
    if (colour && text->length > 0) {
        text->data[--text->length] = '\0';
        vbs_text_add(text, PLAIN "\n");
    }
}

/* Adds the next line of the cells that lie across; false when nothing is left of them. */
static bool add_line(struct vbs_text *text, const struct cli_table *table,
                     const struct layout *layout)
{
    bool more = false;

    for (int i = 0; i < table->n_columns; i++) {
        const char **rest = &layout->rest[i];
        int length;

        if (layout->lies[i] != ACROSS)
            continue;
        length = next_line(*rest, layout->widths[i]);
        add_cell(text, &table->columns[i], layout->widths[i], *rest, length);
        *rest += length;
        *rest += strspn(*rest, " ");
        more = more || **rest;
    }
    end_line(text);
    return more;
}

static void add_row(struct vbs_text *text, const struct cli_table *table,
                    const struct layout *layout, int first, int columns)
{
    for (int i = 0; i < table->n_columns; i++)
        layout->rest[i] = table->cells[first + i];
    while (add_line(text, table, layout))
        continue;
    add_below(text, table, layout, first, columns);
}

void cli_table_clear(struct cli_table *table)
{
    for (int i = 0; i < table->n_cells; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->n_cells = 0;
    table->capacity = 0;
}

enum vbs_status cli_table_print(struct cli *cli, struct cli_table *table)
{
    struct layout layout = {calloc((size_t)table->n_columns, sizeof *layout.widths),
                            calloc((size_t)table->n_columns, sizeof *layout.lies),
                            calloc((size_t)table->n_columns, sizeof *layout.rest)};
    struct vbs_text text = {.failed =
                                !layout.widths || !layout.lies || !layout.rest || table->failed};
    enum vbs_status status;

    if (!text.failed) {
        lay_out(table, cli->columns, &layout);
        add_headings(&text, table, &layout, cli->colour);
        for (int i = 0; i < table->n_cells; i += table->n_columns)
            add_row(&text, table, &layout, i, cli->columns);
    }
    status = cli_text_print(cli, &text);
    free(layout.widths);
    free(layout.lies);
    free(layout.rest);
    cli_table_clear(table);
    return status;
}
