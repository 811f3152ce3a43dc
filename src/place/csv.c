/*
 * Placement problems as CSV of MiniMalloc (see place.h). The text is untrusted.
 *
 * A row becomes an item: one rectangle, or, where it has gaps, several: one between each two gaps,
 * and one for the window that lives on inside each gap.
 */
#include "place/csv.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "vbslab/place.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)256 << 20)

#define COLUMNS(X)                                                                                 \
    X(id)                                                                                          \
    X(lower)                                                                                       \
    X(upper)                                                                                       \
    X(size)                                                                                        \
    X(alignment)                                                                                   \
    X(gaps)                                                                                        \
    X(hint)                                                                                        \
    X(offset)
#define COLUMN_ENUM(name) COLUMN_##name,
enum column { COLUMNS(COLUMN_ENUM) N_COLUMNS };
#undef COLUMN_ENUM

#define FIRST_OPTIONAL COLUMN_alignment

static const char *const NAMES[] = {
#define COLUMN_NAME(name) #name,
    COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
        NULL};

struct vbs_place_csv {
    char *text; /* the fields point into it */
    int n_columns;
    int at[N_COLUMNS]; /* index of the column in the file, or -1 */
    char **fields;     /* [n_columns * (1 + rows)], the header first */
    size_t n_fields;
    int64_t max_fields;
    struct vbs_place_item *items;
    size_t n_items;
    int64_t max_items;
    struct vbs_place_rect *rects;
    size_t n_rects;
    int64_t max_rects;
    const char **names; /* [n_items] */
    struct vbs_place_problem problem;
};

/* Steps [lower, upper) in which only the bytes [from, to) of a buffer live. */
struct gap {
    int64_t lower, upper, from, to;
};

struct place_reader {
    struct place_scan scan;
    struct vbs_place_csv *csv;
    struct gap gaps[VBS_MAX_PLACE_STACK / 2];
    int n_gaps;
};

#define FAIL(reader, ...) vbs_place_scan_fail(&(reader)->scan, __VA_ARGS__)

static enum vbs_status keep_fields(struct place_reader *reader)
{
    struct vbs_place_csv *csv = reader->csv;

    VBS_TRY(vbs_grow(reader->scan.ctx, &csv->fields, &csv->max_fields,
                     (int64_t)csv->n_fields + csv->n_columns, sizeof *csv->fields));
    memcpy(csv->fields + csv->n_fields, reader->scan.fields,
           (size_t)csv->n_columns * sizeof *csv->fields);
    csv->n_fields += (size_t)csv->n_columns;
    return VBS_OK;
}

static enum vbs_status add_rect(struct place_reader *reader, int64_t lower, int64_t upper,
                                int64_t offset, int64_t size)
{
    struct vbs_place_csv *csv = reader->csv;

    VBS_TRY(vbs_grow(reader->scan.ctx, &csv->rects, &csv->max_rects, (int64_t)csv->n_rects + 1,
                     sizeof *csv->rects));
    csv->rects[csv->n_rects++] = (struct vbs_place_rect){lower, upper, offset, size};
    return VBS_OK;
}

/* ---- header ---- */

static enum vbs_status name_column(struct place_reader *reader, int field)
{
    struct vbs_place_csv *csv = reader->csv;
    const char *name = reader->scan.fields[field];

    for (int c = 0; c < N_COLUMNS; c++) {
        if (strcmp(name, NAMES[c]) != 0)
            continue;
        if (csv->at[c] >= 0)
            return FAIL(reader, "column '%s' is there twice", name);
        csv->at[c] = field;
        return VBS_OK;
    }
    return FAIL(reader,
                "column '%.40s' is not known; there are id, lower, upper, size, alignment, gaps, "
                "hint and offset",
                name);
}

static enum vbs_status read_header(struct place_reader *reader)
{
    enum vbs_status status = vbs_place_scan_row(&reader->scan);

    if (status != VBS_OK)
        return status;
    if (reader->scan.n_fields == 0)
        return FAIL(reader, "no header; the first line names the columns: id,lower,upper,size");
    for (int c = 0; c < N_COLUMNS; c++)
        reader->csv->at[c] = -1;
    for (int f = 0; f < reader->scan.n_fields && status == VBS_OK; f++)
        status = name_column(reader, f);
    for (int c = 0; c < FIRST_OPTIONAL && status == VBS_OK; c++)
        if (reader->csv->at[c] < 0)
            status = FAIL(reader, "column '%s' is missing", NAMES[c]);
    reader->csv->n_columns = reader->scan.n_fields;
    return status == VBS_OK ? keep_fields(reader) : status;
}

/* ---- values ---- */

/* Reads digits at *text, and moves *text behind them; false without any digits, or above
 * INT64_MAX. */
static bool read_digits(const char **text, int64_t *value)
{
    const char *start = *text;
    bool fits = true;

    *value = 0;
    for (; **text >= '0' && **text <= '9'; ++*text)
        fits = fits && vbs_mul(*value, 10, value) && vbs_add(*value, **text - '0', value);
    return fits && *text > start;
}

/* Gives a field of the current row; "" where the file has no such column. */
static const char *field(const struct place_reader *reader, enum column column)
{
    int at = reader->csv->at[column];

    return at < 0 ? "" : reader->scan.fields[at];
}

static enum vbs_status read_whole(struct place_reader *reader, enum column column, int64_t low,
                                  int64_t *value)
{
    const char *text = field(reader, column), *digits = text + (text[0] == '-');
    int64_t number;

    if (!read_digits(&digits, &number) || *digits)
        return FAIL(reader, "%s '%.40s' is not a whole number of 64 bits", NAMES[column], text);
    *value = text[0] == '-' ? -number : number;
    if (*value < low)
        return FAIL(reader, "%s %.40s is below %lld", NAMES[column], text, (long long)low);
    return VBS_OK;
}

/* Reads "A-B" or "A-B@L:U" at *text, and moves *text behind it. */
static bool read_gap(const char **text, struct gap *gap)
{
    *gap = (struct gap){0};
    if (!read_digits(text, &gap->lower) || *(*text)++ != '-' || !read_digits(text, &gap->upper))
        return false;
    if (**text != '@')
        return **text == ' ' || **text == '\0';
    ++*text;
    return read_digits(text, &gap->from) && *(*text)++ == ':' && read_digits(text, &gap->to) &&
           (**text == ' ' || **text == '\0');
}

static int by_lower(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;

    return (x->lower > y->lower) - (x->lower < y->lower);
}

static enum vbs_status read_gaps(struct place_reader *reader, int64_t lower, int64_t upper,
                                 int64_t size)
{
    const char *text = field(reader, COLUMN_gaps);

    reader->n_gaps = 0;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const char *start = text;
        struct gap *gap = &reader->gaps[reader->n_gaps];

        if (reader->n_gaps == VBS_MAX_PLACE_STACK / 2 - 1)
            return FAIL(reader, "more than %d gaps", VBS_MAX_PLACE_STACK / 2 - 1);
        if (!read_gap(&text, gap))
            return FAIL(reader, "gaps '%.40s' are not like 3-5 or 3-5@0:64", start);
        if (gap->lower < lower || gap->lower >= gap->upper || gap->upper > upper ||
            gap->from > gap->to || gap->to > size)
            return FAIL(reader, "gap '%.40s' is not within the buffer's steps and bytes", start);
        reader->n_gaps++;
    }
    qsort(reader->gaps, (size_t)reader->n_gaps, sizeof *reader->gaps, by_lower);
    for (int g = 1; g < reader->n_gaps; g++)
        if (reader->gaps[g].lower < reader->gaps[g - 1].upper)
            return FAIL(reader, "the gaps overlap");
    return VBS_OK;
}

/* Adds the rectangles of a row: the whole buffer between gaps, and its windows in them. */
static enum vbs_status add_rects(struct place_reader *reader, int64_t lower, int64_t upper,
                                 int64_t size)
{
    bool whole = false;

    for (int g = 0; g <= reader->n_gaps; g++) {
        const struct gap *gap = g < reader->n_gaps ? &reader->gaps[g] : NULL;
        int64_t end = gap ? gap->lower : upper;

        if (lower < end) {
            whole = true;
            VBS_TRY(add_rect(reader, lower, end, 0, size));
        }
        if (gap && gap->from < gap->to)
            VBS_TRY(add_rect(reader, gap->lower, gap->upper, gap->from, gap->to - gap->from));
        lower = gap ? gap->upper : upper;
    }
    if (!whole)
        return FAIL(reader, "the gaps leave no step at which all of the buffer lives");
    return VBS_OK;
}

/* ---- rows ---- */

static enum vbs_status read_optional(struct place_reader *reader, struct vbs_place_item *item)
{
    int64_t hint;
    enum vbs_status status = VBS_OK;

    if (*field(reader, COLUMN_hint))
        status = read_whole(reader, COLUMN_hint, -1, &hint);
    if (status == VBS_OK && *field(reader, COLUMN_alignment))
        status = read_whole(reader, COLUMN_alignment, 1, &item->alignment);
    if (status == VBS_OK && (item->alignment & (item->alignment - 1)))
        return FAIL(reader, "alignment %lld is no power of two", (long long)item->alignment);
    if (status != VBS_OK || !*field(reader, COLUMN_offset))
        return status;
    item->fixed = true;
    VBS_TRY(read_whole(reader, COLUMN_offset, 0, &item->fixed_offset));
    if (item->alignment > 1 && item->fixed_offset % item->alignment)
        return FAIL(reader, "offset %lld is no multiple of the alignment, %lld",
                    (long long)item->fixed_offset, (long long)item->alignment);
    return VBS_OK;
}

static enum vbs_status read_row(struct place_reader *reader)
{
    struct vbs_place_csv *csv = reader->csv;
    struct vbs_place_item item = {.first_rect = (int64_t)csv->n_rects};
    int64_t lower, upper, size;
    enum vbs_status status;

    if (reader->scan.n_fields != csv->n_columns)
        return FAIL(reader, "the line has %d fields, the header %d", reader->scan.n_fields,
                    csv->n_columns);
    if (csv->n_items == VBS_MAX_PLACE_ITEMS)
        return FAIL(reader, "more than %lld buffers", (long long)VBS_MAX_PLACE_ITEMS);
    if ((status = read_whole(reader, COLUMN_lower, -INT64_MAX, &lower)) ||
        (status = read_whole(reader, COLUMN_upper, -INT64_MAX, &upper)) ||
        (status = read_whole(reader, COLUMN_size, 0, &size)) ||
        (status = read_optional(reader, &item)))
        return status;
    if (lower >= upper)
        return FAIL(reader, "lower %lld is not below upper %lld", (long long)lower,
                    (long long)upper);
    if ((status = read_gaps(reader, lower, upper, size)) ||
        (status = add_rects(reader, lower, upper, size)) || (status = keep_fields(reader)))
        return status;
    if (csv->n_rects > (size_t)VBS_MAX_PLACE_RECTS)
        return FAIL(reader, "more than %lld gaps", (long long)VBS_MAX_PLACE_RECTS);
    VBS_TRY(vbs_grow(reader->scan.ctx, &csv->items, &csv->max_items, (int64_t)csv->n_items + 1,
                     sizeof *csv->items));
    item.n_rects = (int64_t)csv->n_rects - item.first_rect;
    csv->items[csv->n_items++] = item;
    return VBS_OK;
}

static enum vbs_status make_problem(struct place_reader *reader)
{
    struct vbs_place_csv *csv = reader->csv;

    csv->names = calloc(csv->n_items + 1, sizeof *csv->names);
    if (!csv->names)
        return vbs_no_memory(reader->scan.ctx);
    for (size_t i = 0; i < csv->n_items; i++)
        csv->names[i] = csv->fields[(i + 1) * (size_t)csv->n_columns + (size_t)csv->at[COLUMN_id]];
    csv->problem = (struct vbs_place_problem){.n_items = (int64_t)csv->n_items,
                                              .items = csv->items,
                                              .n_rects = (int64_t)csv->n_rects,
                                              .rects = csv->rects,
                                              .capacity = INT64_MAX,
                                              .names = csv->names};
    return VBS_OK;
}

static enum vbs_status read_rows(struct place_reader *reader)
{
    enum vbs_status status = read_header(reader);

    if (status != VBS_OK)
        return status;
    while (status == VBS_OK) {
        if (vbs_cancelled(reader->scan.ctx))
            return vbs_fail(reader->scan.ctx, VBS_INTERRUPTED, "interrupted");
        if ((status = vbs_place_scan_row(&reader->scan)) || reader->scan.n_fields == 0)
            break;
        status = read_row(reader);
    }
    return status == VBS_OK ? make_problem(reader) : status;
}

/* Parses text, which it changes; text[length] is 0. Takes ownership of text, also where it
 * fails. */
static enum vbs_status parse(struct vbs_ctx *ctx, const char *source, char *text, size_t length,
                             struct vbs_place_csv **csv)
{
    struct place_reader *reader = calloc(1, sizeof *reader);
    struct vbs_place_csv *made = calloc(1, sizeof *made);
    enum vbs_status status;

    if (!reader || !made) {
        free(reader);
        free(made);
        free(text);
        return vbs_no_memory(ctx);
    }
    made->text = text;
    reader->csv = made;
    reader->scan = (struct place_scan){
        .ctx = ctx, .source = source, .at = text, .end = text + length, .line = 1};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        reader->scan.at += 3;
    status = read_rows(reader);
    free(reader);
    if (status == VBS_OK)
        *csv = made;
    else
        vbs_place_csv_free(made);
    return status;
}

enum vbs_status vbs_place_csv_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                    size_t length, struct vbs_place_csv **csv)
{
    char *copy;

    if (length > MAX_BYTES)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' is larger than %zu bytes", source, MAX_BYTES);
    copy = malloc(length + 1);
    if (!copy)
        return vbs_no_memory(ctx);
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return parse(ctx, source, copy, length, csv);
}

enum vbs_status vbs_place_csv_read(struct vbs_ctx *ctx, const char *path,
                                   struct vbs_place_csv **csv)
{
    enum vbs_status status;
    size_t length;
    char *text;

    if ((status = vbs_read_file(ctx, path, MAX_BYTES, &text, &length)))
        return status;
    return parse(ctx, strcmp(path, "-") == 0 ? "standard input" : path, text, length, csv);
}

void vbs_place_csv_free(struct vbs_place_csv *csv)
{
    if (!csv)
        return;
    free(csv->text);
    free(csv->fields);
    free(csv->items);
    free(csv->rects);
    free(csv->names);
    free(csv);
}

const struct vbs_place_problem *vbs_place_csv_problem(const struct vbs_place_csv *csv)
{
    return &csv->problem;
}

/* ---- writing ---- */

static void add_row(struct vbs_text *text, const struct vbs_place_csv *csv, size_t row,
                    const char *offset)
{
    bool added = csv->at[COLUMN_offset] < 0;

    for (int c = 0; c < csv->n_columns; c++) {
        if (c > 0)
            vbs_text_add(text, ",");
        vbs_text_add_csv_exact(text, c == csv->at[COLUMN_offset]
                                         ? offset
                                         : csv->fields[row * (size_t)csv->n_columns + (size_t)c]);
    }
    if (added)
        vbs_text_addf(text, ",%s", offset);
    vbs_text_add(text, "\n");
}

enum vbs_status vbs_place_csv_write(struct vbs_ctx *ctx, const struct vbs_place_csv *csv,
                                    const struct vbs_place_result *result, const char *path)
{
    struct vbs_text text = {0};
    enum vbs_status status;

    if (result->n_items != csv->problem.n_items)
        return vbs_fail(ctx, VBS_USAGE, "the offsets are of another problem");
    add_row(&text, csv, 0, NAMES[COLUMN_offset]);
    for (size_t i = 0; i < csv->n_items; i++) {
        char offset[24];

        snprintf(offset, sizeof offset, "%lld", (long long)result->offsets[i]);
        add_row(&text, csv, i + 1, offset);
    }
    status = text.failed ? vbs_no_memory(ctx) : vbs_write_file(ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    return status;
}
