/*
 * Profiles from CSV. The text is untrusted. It is cut into fields in place (a separator becomes a
 * zero), row by row, and each row goes straight into the builder, which checks it.
 */
#include "base/ctx.h"
#include "profile/csv/csv.h"
#include "profile/reach.h"

#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FIELDS 1024 /* of one line */

struct reader {
    struct csv_scan scan;
    struct vbs_ctx *ctx;
    struct vbs_profile_builder *builder; /* its source and line are those of messages */
    char *at, *end;                      /* *end is 0 */
    int line;                            /* the number of the line that at is in */
    int n_fields;
    char *fields[MAX_FIELDS];
    int column_at[CSV_N_COLUMNS]; /* index of each column's field, or -1 */
    int n_columns;                /* in the header; 0 before it */
    int inputs[VBS_MAX_LAYERS];   /* of the row being read */
    struct vbs_reach reaches[VBS_MAX_LAYERS];
    bool input_rows_given;
    bool speed_given;
    struct vbs_provenance provenance;
    bool threads_given;
};

#define FAIL(reader, ...)                                                                          \
    vbs_builder_fail((reader)->ctx, (reader)->builder, (reader)->builder->line, __VA_ARGS__)

/* Ends a field at stop. at points to the separator behind it. */
static enum vbs_status end_field(struct reader *reader, char *stop, bool *last)
{
    char next = *reader->at;

    *last = next != ',';
    if (next == '\r' && reader->at[1] == '\n')
        reader->at++;
    else if (next == '\r')
        return FAIL(reader, "a carriage return without a line feed");
    else if (next == '"')
        return FAIL(reader, "a quote inside a field that does not begin with one");
    else if (next != ',' && next != '\n' && reader->at != reader->end)
        return FAIL(reader, "text after the closing quote of a field");
    if (*reader->at == '\n')
        reader->line++;
    if (reader->at != reader->end)
        reader->at++;
    *stop = '\0';
    return VBS_OK;
}

/* Reads a quoted field; at is behind the opening quote. Doubled quotes become one, and ends of
 * lines are text. */
static enum vbs_status read_quoted(struct reader *reader, bool *last)
{
    char *to = reader->at;

    for (;; reader->at++) {
        if (reader->at == reader->end)
            return FAIL(reader, "a quote is opened and never closed");
        if (*reader->at == '"' && *++reader->at != '"')
            return end_field(reader, to, last);
        if (*reader->at == '\n')
            reader->line++;
        *to++ = *reader->at;
    }
}

static enum vbs_status read_fields(struct reader *reader)
{
    bool last = false;

    reader->builder->line = reader->line;
    for (reader->n_fields = 0; !last;) {
        bool quoted = *reader->at == '"';

        if (reader->n_fields == MAX_FIELDS)
            return FAIL(reader, "more than %d fields", MAX_FIELDS);
        reader->at += quoted;
        reader->fields[reader->n_fields++] = reader->at;
        if (quoted) {
            VBS_TRY(read_quoted(reader, &last));
        } else {
            reader->at += strcspn(reader->at, ",\r\n\"");
            VBS_TRY(end_field(reader, reader->at, &last));
        }
    }
    return VBS_OK;
}

static enum vbs_status set_threads(struct reader *reader, const char *value)
{
    struct vbs_ctx inner = {0};
    int64_t threads;

    if (vbs_parse_int(&inner, "threads", value, 0, INT32_MAX, &threads) != VBS_OK)
        return FAIL(reader, "%s", inner.detail);
    if (reader->threads_given)
        return FAIL(reader, "'threads' is there twice");
    reader->threads_given = true;
    reader->provenance.threads = (int)threads;
    return VBS_OK;
}

static enum vbs_status set_input_rows(struct reader *reader, const char *value)
{
    int64_t rows = 0;

    VBS_TRY(vbs_csv_whole(&reader->scan, CSV_INPUT_ROWS, value, 1, INT32_MAX, &rows));
    if (reader->input_rows_given)
        return FAIL(reader, "'" CSV_INPUT_ROWS "' is there twice");
    reader->input_rows_given = true;
    return vbs_profile_builder_input_rows(reader->ctx, reader->builder, (int)rows);
}

static enum vbs_status set_speed(struct reader *reader, char *value)
{
    if (reader->speed_given)
        return FAIL(reader, "'" CSV_SPEED "' is there twice");
    reader->speed_given = true;
    return vbs_csv_speed(&reader->scan, value);
}

static enum vbs_status set_provenance(struct reader *reader, const char *key, char *value)
{
    const char **place = NULL;
    char *after;

#define MATCH(member)                                                                              \
    if (strcmp(key, #member) == 0)                                                                 \
        place = &reader->provenance.member;
    VBS_PROVENANCE_TEXTS(MATCH)
#undef MATCH
    if (strcmp(key, "threads") == 0)
        return set_threads(reader, value);
    if (strcmp(key, CSV_INPUT_ROWS) == 0)
        return set_input_rows(reader, value);
    if (strcmp(key, "copy") == 0)
        return vbs_csv_copy(&reader->scan, value);
    if (strcmp(key, CSV_BESIDE) == 0)
        return vbs_csv_beside(&reader->scan, value);
    if (strcmp(key, CSV_SPEED) == 0)
        return set_speed(reader, value);
    if (!place)
        return VBS_OK;
    if (*place)
        return FAIL(reader, "'%s' is there twice", key);
    if (*value == '"' && (!(after = vbs_csv_unquote(++value)) || *after))
        return FAIL(reader, "the quoted text of '%s' is malformed", key);
    *place = value;
    return VBS_OK;
}

/* Reads a line that begins with '#': "# key: value" before the header, else a comment without a
 * meaning. */
static enum vbs_status read_comment(struct reader *reader)
{
    char *text = reader->at + 1, *stop = text + strcspn(text, "\n"), *colon;

    reader->builder->line = reader->line;
    reader->at = stop;
    if (stop != reader->end) {
        reader->at++;
        reader->line++;
    }
    if (reader->n_columns)
        return VBS_OK;
    *stop = '\0';
    text += strspn(text, " \t");
    colon = strchr(text, ':');
    if (!colon)
        return VBS_OK;
    while (stop > colon + 1 && strchr(" \t\r", stop[-1]))
        *--stop = '\0';
    *colon = '\0';
    return set_provenance(reader, text, colon + 1 + strspn(colon + 1, " \t"));
}

/* Moves to the next line that is neither empty nor a comment; *got is false at the end. */
static enum vbs_status next_record(struct reader *reader, bool *got)
{
    *got = false;
    while (reader->at != reader->end) {
        enum vbs_status status;

        if (*reader->at == '\n' || (*reader->at == '\r' && reader->at[1] == '\n')) {
            reader->at += *reader->at == '\r' ? 2 : 1;
            reader->line++;
            continue;
        }
        if (*reader->at != '#') {
            *got = true;
            return read_fields(reader);
        }
        if ((status = read_comment(reader)))
            return status;
    }
    return VBS_OK;
}

static enum vbs_status read_header(struct reader *reader)
{
    enum vbs_status status;
    bool got, measured = false;

    if ((status = next_record(reader, &got)))
        return status;
    if (!got)
        return vbs_builder_fail(reader->ctx, reader->builder, 0,
                                "no header; the first line names the columns: layer,name,kind,...");
    for (int c = 0; c < CSV_N_COLUMNS; c++) {
        reader->column_at[c] = -1;
        for (int i = 0; i < reader->n_fields; i++) {
            if (strcmp(reader->fields[i], vbs_csv_columns[c]) != 0)
                continue;
            if (reader->column_at[c] >= 0)
                return FAIL(reader, "column '%s' is there twice", vbs_csv_columns[c]);
            reader->column_at[c] = i;
        }
        measured = measured ||
                   (c >= CSV_FIRST_MEASURED && c < CSV_FIRST_PACKED && reader->column_at[c] >= 0);
    }
    for (int c = 0; c < (measured ? CSV_FIRST_PACKED : CSV_FIRST_MEASURED); c++)
        if (reader->column_at[c] < 0)
            return FAIL(reader, "column '%s' is missing", vbs_csv_columns[c]);
    reader->n_columns = reader->n_fields;
    return VBS_OK;
}

static const char *field(const struct reader *reader, enum csv_column column)
{
    return reader->column_at[column] < 0 ? "0" : reader->fields[reader->column_at[column]];
}

static enum vbs_status read_whole(struct reader *reader, enum csv_column column, int64_t low,
                                  int64_t high, int64_t *value)
{
    return vbs_csv_whole(&reader->scan, vbs_csv_columns[column], field(reader, column), low, high,
                         value);
}

static enum vbs_status read_int(struct reader *reader, enum csv_column column, int low, int high,
                                int *value)
{
    int64_t number;

    VBS_TRY(read_whole(reader, column, low, high, &number));
    *value = (int)number;
    return VBS_OK;
}

static enum vbs_status read_time(struct reader *reader, enum csv_column column, double *value)
{
    return vbs_csv_time(&reader->scan, vbs_csv_columns[column], field(reader, column), value);
}

static enum vbs_status read_inputs(struct reader *reader, struct vbs_profile_layer *layer)
{
    const char *text = field(reader, CSV_inputs), *at = text;

    for (layer->n_inputs = 0;; at++) {
        int64_t id;

        if (!vbs_csv_digits(&at, &id) || id > VBS_MAX_LAYERS)
            break;
        if (layer->n_inputs == VBS_MAX_LAYERS)
            return FAIL(reader, "more than %d inputs", VBS_MAX_LAYERS);
        reader->inputs[layer->n_inputs++] = (int)id;
        if (*at == '\0') {
            layer->inputs = reader->inputs;
            return VBS_OK;
        }
        if (*at != ';')
            break;
    }
    return FAIL(reader, "inputs '%.40s' is not a list of layers such as 0 or 3;5", text);
}

/* Reads the bytes of a batch, as bytes per sample. first: the bytes per sample that the layer had
 * in first_line, where it was first seen; null when this is that line. */
static enum vbs_status read_activation(struct reader *reader, enum csv_column column, int id,
                                       int batch, const int64_t *first, int first_line,
                                       int64_t *per_sample)
{
    const char *name = vbs_csv_columns[column];
    enum vbs_status status;
    int64_t bytes;

    if ((status = read_whole(reader, column, 0, VBS_MAX_BYTES, &bytes)))
        return status;
    *per_sample = bytes / batch;
    if (first && (bytes % batch || *per_sample != *first))
        return FAIL(reader,
                    "layer %d batch %d: %s is %lld, not %d times the %lld per sample of line %d; "
                    "it must grow linearly with the batch",
                    id, batch, name, (long long)bytes, batch, (long long)*first, first_line);
    if (bytes % batch)
        return FAIL(reader,
                    "layer %d batch %d: %s is %lld, no multiple of the batch; it must grow "
                    "linearly with the batch",
                    id, batch, name, (long long)bytes);
    return VBS_OK;
}

static const char *difference(const struct vbs_profile_layer *a, const struct vbs_profile_layer *b)
{
    if (strcmp(a->name, b->name) != 0)
        return "name";
    if (strcmp(a->kind, b->kind) != 0)
        return "kind";
    if (a->n_inputs != b->n_inputs ||
        memcmp(a->inputs, b->inputs, (size_t)a->n_inputs * sizeof *a->inputs) != 0)
        return "inputs";
    if (a->weight_bytes != b->weight_bytes)
        return "weight_bytes";
    if (a->channels != b->channels)
        return "channels";
    if (a->rows != b->rows)
        return "out_rows";
    if (!vbs_reaches_equal(a->reaches, b->reaches, a->n_inputs))
        return "reach";
    return a->in_place != b->in_place ? "in_place" : NULL;
}

/* Reads the rows of a layer's output and what they read. */
static enum vbs_status read_rows(struct reader *reader, struct vbs_profile_layer *layer)
{
    const char *reach = field(reader, CSV_reach);

    VBS_TRY(read_int(reader, CSV_out_rows, 0, INT32_MAX, &layer->rows));
    if (reach[0] == '\0' || reader->column_at[CSV_reach] < 0)
        return VBS_OK;
    layer->reaches = reader->reaches;
    return vbs_csv_reaches(&reader->scan, reach, layer->n_inputs, reader->reaches);
}

/* Reads a row's columns of the layer. The first row of a layer makes it, and the others must
 * agree. */
static enum vbs_status read_layer(struct reader *reader, int id, int batch)
{
    const struct vbs_profile_builder *builder = reader->builder;
    const struct builder_layer *seen =
        id <= builder->n_layers && builder->layers[id].given ? &builder->layers[id] : NULL;
    int seen_line = seen ? seen->line : 0, in_place = 0;
    struct vbs_profile_layer layer = {.name = field(reader, CSV_name),
                                      .kind = field(reader, CSV_kind)};
    enum vbs_status status;
    const char *differs;

    if ((status = read_inputs(reader, &layer)) ||
        (status = read_whole(reader, CSV_weight_bytes, 0, VBS_MAX_BYTES, &layer.weight_bytes)) ||
        (status = read_int(reader, CSV_channels, 0, INT32_MAX, &layer.channels)) ||
        (status = read_int(reader, CSV_in_place, 0, 1, &in_place)) ||
        (status = read_rows(reader, &layer)))
        return status;
    layer.in_place = in_place;
    if (seen && (differs = difference(&layer, &seen->layer)))
        return FAIL(reader, "layer %d batch %d: %s differs from that of line %d", id, batch,
                    differs, seen_line);
    if ((status =
             read_activation(reader, CSV_in_bytes, id, batch, seen ? &seen->layer.in_bytes : NULL,
                             seen_line, &layer.in_bytes)) ||
        (status =
             read_activation(reader, CSV_out_bytes, id, batch, seen ? &seen->layer.out_bytes : NULL,
                             seen_line, &layer.out_bytes)))
        return status;
    return seen ? VBS_OK : vbs_builder_set_layer(reader->ctx, reader->builder, id, &layer);
}

static enum vbs_status read_row(struct reader *reader)
{
    struct vbs_profile_row row = {0};
    enum vbs_status status;
    int layer = 0, batch = 0;

    if (reader->n_fields != reader->n_columns)
        return FAIL(reader, "the line has %d fields, the header %d", reader->n_fields,
                    reader->n_columns);
    if ((status = read_int(reader, CSV_layer, 1, VBS_MAX_LAYERS, &layer)) ||
        (status = read_int(reader, CSV_batch, 1, VBS_MAX_BATCH, &batch)) ||
        (status = read_layer(reader, layer, batch)) ||
        (status = read_time(reader, CSV_time_us, &row.time_us)) ||
        (status = read_whole(reader, CSV_ws_bytes, 0, VBS_MAX_BYTES, &row.ws_bytes)) ||
        (status = read_whole(reader, CSV_packed_bytes, 0, VBS_MAX_BYTES, &row.weight_bytes)) ||
        (status = read_int(reader, CSV_form, 0, VBS_MAX_FORMATS - 1, &row.format)) ||
        (status = read_int(reader, CSV_parts, 0, VBS_MAX_ROW_SLICES, &row.n_slices)) ||
        (status = read_time(reader, CSV_mad_us, &row.mad_us)) ||
        (status = read_time(reader, CSV_low_us, &row.low_us)) ||
        (status = read_time(reader, CSV_high_us, &row.high_us)) ||
        (status = read_int(reader, CSV_n_runs, 0, INT32_MAX, &row.n_runs)) ||
        (status = read_int(reader, CSV_rows, 0, INT32_MAX, &row.rows)))
        return status;
    return vbs_profile_builder_row(reader->ctx, reader->builder, layer, batch,
                                   field(reader, CSV_algorithm), &row);
}

static enum vbs_status read_all(struct reader *reader)
{
    enum vbs_status status = read_header(reader);
    bool got = true;

    if (status != VBS_OK)
        return status;
    while (got) {
        status = next_record(reader, &got);
        if (status == VBS_OK && got)
            status = read_row(reader);
        if (vbs_cancelled(reader->ctx))
            return vbs_fail(reader->ctx, VBS_INTERRUPTED, "interrupted");
        if (status != VBS_OK)
            return status;
    }
    if (reader->builder->n_rows == 0)
        return vbs_builder_fail(reader->ctx, reader->builder, 0, "no rows after the header");
    reader->builder->line = 0;
    return vbs_profile_builder_provenance(reader->ctx, reader->builder, &reader->provenance);
}

/* Refuses bytes that are zero: text has none, and they would end fields early. */
static enum vbs_status check_zeros(struct reader *reader)
{
    char *zero = memchr(reader->at, '\0', (size_t)(reader->end - reader->at));
    int line = 1;

    if (!zero)
        return VBS_OK;
    for (const char *c = reader->at; c < zero; c++)
        line += *c == '\n';
    return vbs_builder_fail(reader->ctx, reader->builder, line,
                            "a zero byte; this is not a text file (UTF-16 must be converted to "
                            "UTF-8)");
}

/* Parses text, which it changes; text[length] is 0. */
static enum vbs_status parse_in_place(struct vbs_ctx *ctx, const char *source, char *text,
                                      size_t length, struct vbs_profile **profile)
{
    struct reader *reader = calloc(1, sizeof *reader);
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    size_t source_length = strlen(source);
    enum vbs_status status;
    char shown[128];

    if (!reader || !builder) {
        status = vbs_no_memory(ctx);
        goto done;
    }
    /* A long path would leave no room for the reason. */
    snprintf(shown, sizeof shown, "%s%s", source_length < sizeof shown ? "" : "...",
             source_length < sizeof shown ? source : source + source_length - 120);
    builder->source = shown;
    *reader = (struct reader){.scan = {ctx, builder, newlocale(LC_ALL_MASK, "C", (locale_t)0)},
                              .ctx = ctx,
                              .builder = builder,
                              .at = text,
                              .end = text + length,
                              .line = 1};
    if (!reader->scan.locale) {
        status = vbs_no_memory(ctx);
        goto done;
    }
    status = check_zeros(reader);
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        reader->at += 3;
    if (status == VBS_OK)
        status = read_all(reader);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, profile);

done:
    if (reader && reader->scan.locale)
        freelocale(reader->scan.locale);
    free(reader);
    vbs_profile_builder_free(builder);
    return status;
}

enum vbs_status vbs_profile_parse_csv(struct vbs_ctx *ctx, const char *source, const char *text,
                                      size_t length, struct vbs_profile **profile)
{
    enum vbs_status status;
    char *copy;

    if (length > CSV_MAX_BYTES)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' is larger than %zu bytes", source, CSV_MAX_BYTES);
    copy = malloc(length + 1);
    if (!copy)
        return vbs_no_memory(ctx);
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    status = parse_in_place(ctx, source, copy, length, profile);
    free(copy);
    return status;
}

enum vbs_status vbs_profile_read_csv(struct vbs_ctx *ctx, const char *path,
                                     struct vbs_profile **profile)
{
    const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
    enum vbs_status status;
    size_t length;
    char *text;

    if ((status = vbs_read_file(ctx, path, CSV_MAX_BYTES, &text, &length)))
        return status;
    status = parse_in_place(ctx, source, text, length, profile);
    free(text);
    return status;
}
