/* Lays out columns and paragraphs for a terminal. */
#include "report/common/common.h"

#include "base/utf8.h"

#include <string.h>

#define GAP 2 /* spaces before a column */

static int wider(int width, const char *text)
{
    int own = vbs_form_width(text);

    return own > width ? own : width;
}

static void set_width(struct vbs_form_column *column, int n_rows)
{
    column->width = wider(wider(0, column->top), column->bottom);
    for (int row = 0; row < n_rows; row++)
        column->width = wider(column->width, column->cells[row].text);
}

static void add_right(struct vbs_text *text, const char *words, int width, bool strong)
{
    vbs_text_addf(text, "%*s%s%s%s", GAP + width - vbs_form_width(words), "",
                  strong ? "\x1b[1m" : "", words, strong ? "\x1b[0m" : "");
}

static void add_rule(struct vbs_text *text, int width)
{
    vbs_text_addf(text, "%*s", GAP, "");
    while (width-- > 0)
        vbs_text_add(text, "-");
}

/* Ends the line without the blanks that an empty last cell leaves. */
static void end_line(struct vbs_text *text)
{
    while (text->length > 0 && text->data[text->length - 1] == ' ')
        text->data[--text->length] = '\0';
    vbs_text_add(text, "\n");
}

/* A block: columns 0 and from..to-1. */
struct block {
    const struct vbs_form_column *columns;
    int from, to;
};

static const struct vbs_form_column *next_column(const struct block *block, int *i)
{
    int at = *i;

    *i = at == 0 ? block->from : at + 1;
    return at < block->to ? &block->columns[at] : NULL;
}

static void add_block(struct vbs_text *text, const struct block *block, int n_rows, bool colour)
{
    const struct vbs_form_column *column;

    for (int i = 0; (column = next_column(block, &i));)
        add_right(text, column->top, column->width, false);
    end_line(text);
    for (int i = 0; (column = next_column(block, &i));)
        add_right(text, column->bottom, column->width, false);
    end_line(text);
    for (int i = 0; (column = next_column(block, &i));)
        add_rule(text, column->width);
    end_line(text);
    for (int row = 0; row < n_rows; row++) {
        for (int i = 0; (column = next_column(block, &i));)
            add_right(text, column->cells[row].text, column->width,
                      colour && column->cells[row].strong);
        end_line(text);
    }
}

/* Gives the terminal columns of the group that begins at from. */
static int group_width(const struct vbs_form_column *columns, int from, int n_columns)
{
    int width = 0, i = from;

    do
        width += GAP + columns[i++].width;
    while (i < n_columns && !columns[i].begins_group);
    return width;
}

/* Gives the end of the block of at most width that begins at column from: at least one column. A
 * group that would be divided goes to the next block as a whole, when it fits there. */
static int end_block(const struct vbs_form_column *columns, int from, int n_columns, int width)
{
    int first = GAP + columns[0].width, used = first, i = from;

    while (i < n_columns && (i == from || used + GAP + columns[i].width <= width)) {
        int group = columns[i].begins_group ? group_width(columns, i, n_columns) : 0;

        if (i > from && used + group > width && first + group <= width)
            break;
        used += GAP + columns[i++].width;
    }
    return i;
}

void vbs_form_add_columns(struct vbs_text *text, struct vbs_form_column *columns, int n_columns,
                          int n_rows, int width, bool colour)
{
    struct block block = {.columns = columns, .to = 1};

    for (int i = 0; i < n_columns; i++)
        set_width(&columns[i], n_rows);
    do {
        block.from = block.to;
        block.to = end_block(columns, block.from, n_columns, width);
        if (block.from > 1)
            vbs_text_add(text, "\n");
        add_block(text, &block, n_rows, colour);
    } while (block.to < n_columns);
}

/* Gives the bytes of the next piece of at most room columns: a word, or as much of it as fits a
 * line. */
static size_t next_piece(const char *words, int room)
{
    size_t length = 0;

    while (words[length] && words[length] != ' ') {
        uint32_t code;
        int bytes = vbs_utf8_character(words + length, &code);

        if (room-- == 0)
            break;
        length += bytes > 0 ? (size_t)bytes : 1;
    }
    return length;
}

void vbs_form_add_wrapped(struct vbs_text *text, const char *words, int indent, int width)
{
    bool fresh = true; /* the line has only the indent so far */
    int column = 0;

    while (*words) {
        size_t length = next_piece(words, width - indent);
        int columns = 0;

        for (size_t i = 0; i < length; i++)
            columns += ((unsigned char)words[i] & 0xc0) != 0x80;
        if (!fresh && column + 1 + columns > width) {
            vbs_text_addf(text, "\n%*s", indent, "");
            column = indent;
        } else if (!fresh) {
            vbs_text_add(text, " ");
            column++;
        }
        vbs_text_addf(text, "%.*s", (int)length, words);
        column += columns;
        fresh = false;
        words += length;
        words += *words == ' ';
    }
    vbs_text_add(text, "\n");
}
