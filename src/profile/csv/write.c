/*
 * Profiles as CSV. A profile has exactly one text: its rows are sorted by layer, batch and
 * algorithm, those of stripes behind the others of the layer, empty texts of the provenance are
 * left out, and statistics stand only in profiles with measured rows or copies.
 */
#include "profile/csv/csv.h"

#include "base/fail.h"
#include "base/text.h"
#include "profile/reach.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const vbs_csv_columns[CSV_N_COLUMNS] = {
#define NAME(column) #column,
    CSV_COLUMNS(NAME)
#undef NAME
};

/* Gives whether a comment line needs quotes around a value: the value would end the line, or blanks
 * or a quote at its ends would be read in another way. */
static bool needs_quotes(const char *value)
{
    size_t length = strlen(value);

    for (const char *c = value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return true;
    return length && (value[0] == '"' || value[0] == ' ' || value[length - 1] == ' ');
}

static void add_quoted(struct vbs_text *text, const char *value)
{
    vbs_text_add(text, "\"");
    for (; *value; value++) {
        unsigned char c = (unsigned char)*value;

        if (c == '"' || c == '\\')
            vbs_text_addf(text, "\\%c", c);
        else if (c == '\n')
            vbs_text_add(text, "\\n");
        else if (c < 0x20 || c == 0x7f)
            vbs_text_addf(text, "\\x%02x", c);
        else
            vbs_text_addf(text, "%c", c);
    }
    vbs_text_add(text, "\"");
}

static void add_provenance(struct vbs_text *text, const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    vbs_text_addf(text, "# %s: ", key);
    if (needs_quotes(value))
        add_quoted(text, value);
    else
        vbs_text_add(text, value);
    vbs_text_add(text, "\n");
}

/* Appends ",mad,low,high,runs". */
static void add_statistics(struct vbs_text *text, double mad_us, double low_us, double high_us,
                           int n_runs)
{
    vbs_text_add(text, ",");
    vbs_text_add_double(text, mad_us);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, low_us);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, high_us);
    vbs_text_addf(text, ",%d", n_runs);
}

static void add_source(struct vbs_text *text, const char *source)
{
    if (needs_quotes(source) || strchr(source, ','))
        add_quoted(text, source);
    else
        vbs_text_add(text, source);
}

static void add_copy(struct vbs_text *text, const char *source, const struct vbs_copy_row *row)
{
    vbs_text_add(text, "# copy: ");
    add_source(text, source);
    vbs_text_addf(text, ",%" PRId64 ",", row->bytes);
    vbs_text_add_double(text, row->time_us);
    if (row->n_runs > 0)
        add_statistics(text, row->mad_us, row->low_us, row->high_us, row->n_runs);
    vbs_text_add(text, "\n");
}

static void add_calibration(struct vbs_text *text, const struct vbs_profile *profile)
{
    const struct vbs_speed *speed = &profile->speed;

    for (int i = 0; i < profile->n_copies; i++) {
        const struct vbs_link *link = &profile->copies[i].link;

        if (!link->beside)
            continue;
        vbs_text_add(text, "# " CSV_BESIDE ": ");
        add_source(text, link->source);
        for (int layer = 0; layer <= profile->n_layers; layer++) {
            vbs_text_add(text, ",");
            vbs_text_add_double(text, link->beside[layer]);
        }
        vbs_text_add(text, "\n");
    }
    if (speed->flops_per_us > 0) {
        vbs_text_add(text, "# " CSV_SPEED ": ");
        vbs_text_add_double(text, speed->flops_per_us);
        vbs_text_add(text, ",");
        vbs_text_add_double(text, speed->cache_bytes_per_us);
        vbs_text_add(text, ",");
        vbs_text_add_double(text, speed->memory_bytes_per_us);
        vbs_text_add(text, "\n");
    }
}

/* The groups of columns that a profile needs beside the first. */
struct groups {
    bool measured, packed, divided, rows;
};

static bool has_column(struct groups groups, enum csv_column column)
{
    return column < CSV_FIRST_MEASURED  ? true
           : column < CSV_FIRST_PACKED  ? groups.measured
           : column < CSV_FIRST_DIVIDED ? groups.packed
           : column < CSV_FIRST_ROWS    ? groups.divided
                                        : groups.rows;
}

static void add_head(struct vbs_text *text, const struct vbs_profile *profile, struct groups groups)
{
    const struct vbs_provenance *provenance = &profile->provenance;

#define ADD(member) add_provenance(text, #member, provenance->member);
    VBS_PROVENANCE_TEXTS(ADD)
#undef ADD
    if (provenance->threads)
        vbs_text_addf(text, "# threads: %d\n", provenance->threads);
    if (profile->layers[0].rows > 0)
        vbs_text_addf(text, "# " CSV_INPUT_ROWS ": %d\n", profile->layers[0].rows);
    for (int i = 0; i < profile->n_copies; i++)
        for (int j = 0; j < profile->copies[i].n_rows; j++)
            add_copy(text, profile->copies[i].source, &profile->copies[i].rows[j]);
    add_calibration(text, profile);
    for (int i = 0; i < CSV_N_COLUMNS; i++)
        if (has_column(groups, i))
            vbs_text_addf(text, "%s%s", i ? "," : "", vbs_csv_columns[i]);
    vbs_text_add(text, "\n");
}

/* Appends ",rows of the output,reaches,rows of the stripe". */
static void add_rows(struct vbs_text *text, const struct vbs_profile_layer *about, int rows)
{
    vbs_text_addf(text, ",%d,", about->rows);
    for (int i = 0; about->reaches && i < about->n_inputs; i++) {
        const struct vbs_reach *reach = &about->reaches[i];

        if (i > 0)
            vbs_text_add(text, ";");
        if (vbs_reach_is_whole(reach))
            vbs_text_add(text, CSV_WHOLE);
        else
            vbs_text_addf(text, "%d/%d:%" PRId64 ":%" PRId64, reach->step, reach->unit, reach->low,
                          reach->high);
    }
    vbs_text_addf(text, ",%d", rows);
}

static void add_row(struct vbs_text *text, const struct vbs_profile *profile, int layer, int batch,
                    const struct vbs_profile_row *row, struct groups groups)
{
    const struct vbs_profile_layer *about = &profile->layers[layer];

    vbs_text_addf(text, "%d,", layer);
    vbs_text_add_csv_exact(text, about->name);
    vbs_text_add(text, ",");
    vbs_text_add_csv_exact(text, about->kind);
    for (int i = 0; i < about->n_inputs; i++)
        vbs_text_addf(text, "%c%d", i ? ';' : ',', about->inputs[i]);
    vbs_text_addf(text, ",%d,", batch);
    vbs_text_add_csv_exact(text, profile->algorithms[row->algorithm]);
    vbs_text_add(text, ",");
    vbs_text_add_double(text, row->time_us);
    vbs_text_addf(text, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d",
                  about->in_bytes * batch, about->out_bytes * batch, row->ws_bytes,
                  about->weight_bytes, about->in_place);
    if (groups.measured)
        add_statistics(text, row->mad_us, row->low_us, row->high_us, row->n_runs);
    if (groups.packed)
        vbs_text_addf(text, ",%d,%" PRId64 ",%d", about->channels, row->weight_bytes, row->format);
    if (groups.divided)
        vbs_text_addf(text, ",%d", row->n_slices);
    if (groups.rows)
        add_rows(text, about, row->rows);
    vbs_text_add(text, "\n");
}

/* Notes the columns that a row needs. */
static void note_row(const struct vbs_profile_layer *about, const struct vbs_profile_row *row,
                     struct groups *groups)
{
    groups->measured = groups->measured || row->n_runs > 0 || row->high_us > 0;
    groups->divided = groups->divided || row->n_slices > 0;
    groups->packed = groups->packed || row->format || row->weight_bytes != about->weight_bytes;
}

static struct groups find_groups(const struct vbs_profile *profile)
{
    struct groups groups = {.rows = profile->layers[0].rows > 0};

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        const struct vbs_profile_layer *about = &profile->layers[layer];
        int n_stripes;
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n_stripes);

        groups.packed = groups.packed || about->channels;
        groups.rows = groups.rows || about->rows > 0;
        for (int i = 0; i < n_stripes; i++)
            note_row(about, &stripes[i].row, &groups);
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                note_row(about, &rows[i], &groups);
        }
    }
    return groups;
}

enum vbs_status vbs_profile_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile, char **text)
{
    struct groups groups = find_groups(profile);
    struct vbs_text made = {0};

    add_head(&made, profile, groups);
    for (int layer = 1; layer <= profile->n_layers && !made.failed; layer++) {
        int n_stripes;
        const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n_stripes);

        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n_rows);

            for (int i = 0; i < n_rows; i++)
                add_row(&made, profile, layer, profile->batches[b], &rows[i], groups);
        }
        for (int i = 0; i < n_stripes; i++)
            add_row(&made, profile, layer, stripes[i].batch, &stripes[i].row, groups);
    }
    if (made.failed) {
        vbs_text_clear(&made);
        return vbs_no_memory(ctx);
    }
    *text = made.data;
    return VBS_OK;
}

enum vbs_status vbs_profile_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const char *path)
{
    char *text;
    enum vbs_status status = vbs_profile_csv(ctx, profile, &text);

    if (status != VBS_OK)
        return status;
    status = vbs_write_file(ctx, path, text, strlen(text));
    free(text);
    return status;
}
