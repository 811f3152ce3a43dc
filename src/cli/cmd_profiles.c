#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"
#include "cli/profiles/profiles.h"

#include <jansson.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ---- */

static void add_bytes(struct cli_table *table, int64_t bytes)
{
    char buffer[24];

    cli_table_add(table, "%s", bytes ? vbs_format_bytes(bytes, buffer, sizeof buffer) : "-");
}

/* ---- JSON ---- */

static void put_provenance(json_t *object, const struct vbs_provenance *provenance, bool *failed)
{
#define PUT(member) cli_json_put(object, #member, json_string(provenance->member), failed);
    VBS_PROVENANCE_TEXTS(PUT)
#undef PUT
    cli_json_put(object, "threads", json_integer(provenance->threads), failed);
}

/* ---- profiles ---- */

static json_t *tags_json(const char *tags, bool *failed)
{
    json_t *array = json_array();

    while (*tags) {
        size_t length = strcspn(tags, ",");

        cli_json_append(array, json_stringn(tags, length), failed);
        tags += length + (tags[length] == ',');
    }
    return array;
}

/* The properties by which entries are listed; null: any. */
struct profiles_filter {
    const char *model, *backend; /* equal, in the same case */
    const char *device;          /* a part of it, in any case */
};

static bool passes(const struct profiles_filter *filter, const struct vbs_store_entry *entry)
{
    const struct vbs_provenance *provenance = &entry->provenance;

    return (!filter->model || strcmp(provenance->model, filter->model) == 0) &&
           (!filter->backend || strcmp(provenance->backend, filter->backend) == 0) &&
           (!filter->device || strcasestr(provenance->device, filter->device));
}

static enum vbs_status list_json(struct cli *cli, const struct vbs_store_list *list,
                                 const struct profiles_filter *filter)
{
    bool failed = false;
    json_t *root = json_object(), *profiles = json_array();

    for (int i = 0; i < list->n_entries; i++) {
        const struct vbs_store_entry *entry = &list->entries[i];
        json_t *object;

        if (!passes(filter, entry))
            continue;
        object = json_object();
        cli_json_put(object, "id", json_integer(entry->id), &failed);
        cli_json_put(object, "hash", entry->hash[0] ? json_string(entry->hash) : json_null(),
                     &failed);
        cli_json_put(object, "tags", tags_json(entry->tags, &failed), &failed);
        cli_json_put(object, "complete", json_boolean(entry->complete), &failed);
        put_provenance(object, &entry->provenance, &failed);
        cli_json_put(object, "n_layers", json_integer(entry->n_layers), &failed);
        cli_json_put(object, "n_batches", json_integer(entry->n_batches), &failed);
        cli_json_put(object, "max_batch", json_integer(entry->max_batch), &failed);
        cli_json_put(object, "n_rows", json_integer(entry->n_rows), &failed);
        cli_json_append(profiles, object, &failed);
    }
    cli_json_put(root, "profiles", profiles, &failed);
    return cli_json_print(cli, root, failed);
}

#define N_ANY             (-1)
#define MAX_BATCHES_SHOWN 16 /* characters */
#define FIRST_BATCHES     6  /* of these, before "..", where all are too long */

/* Appends "1,2,3,4,8" as "1-4,8", or as "X..LAST" where it has more than limit characters. */
static void add_spans(struct vbs_text *text, const int *batches, int n, size_t limit)
{
    for (int i = 0, end; i < n; i = end) {
        char span[32];

        for (end = i + 1; end < n && batches[end] == batches[end - 1] + 1; end++)
            continue;
        if (end - i == 2) /* "1,2" is as short as "1-2" */
            end--;
        snprintf(span, sizeof span, "%d", batches[i]);
        if (end - i > 1)
            snprintf(span, sizeof span, "%d-%d", batches[i], batches[end - 1]);
        if (i > 0 && end < n && text->length + 1 + strlen(span) > limit) {
            snprintf(span, sizeof span, "%d..%d", batches[i], batches[n - 1]);
            end = n;
        }
        vbs_text_addf(text, "%s%s", i ? "," : "", span);
    }
}

/* Adds a cell of batches; a text in another form than the store's is shown unchanged. */
static void add_batches(struct cli_table *table, const char *batches)
{
    struct vbs_text text = {0};
    int *list = NULL, n = 0;

    if (vbs_parse_batches(NULL, batches, &list, &n) != VBS_OK) {
        cli_table_add(table, "%s", batches);
        return;
    }
    add_spans(&text, list, n, SIZE_MAX);
    if (text.length > MAX_BATCHES_SHOWN) {
        vbs_text_clear(&text);
        add_spans(&text, list, n, FIRST_BATCHES);
    }
    if (text.failed)
        table->failed = true;
    else
        cli_table_add(table, "%s", text.data);
    vbs_text_clear(&text);
    free(list);
}

/* Gives the length of the day in "YYYY-MM-DDThh:mm:ssZ", or that of another text. */
static int day_length(const char *date)
{
    const char *t = strchr(date, 'T');

    return t == date + 10 ? 10 : (int)strlen(date);
}

static void add_entry(struct cli_table *table, const struct vbs_store_entry *entry, bool tags)
{
    const struct vbs_provenance *provenance = &entry->provenance;

    cli_table_add(table, "%lld", (long long)entry->id);
    cli_table_add(table, "%s", provenance->model);
    cli_table_add(table, "%s", provenance->input);
    cli_table_add(table, "%s", provenance->backend);
    cli_table_add(table, "%.*s", (int)strcspn(provenance->device, ","), provenance->device);
    if (provenance->threads)
        cli_table_add(table, "%d", provenance->threads);
    else
        cli_table_add(table, "-");
    add_batches(table, entry->batches);
    cli_table_add(table, "%lld", (long long)entry->n_rows);
    cli_table_add(table, "%.*s", day_length(provenance->date), provenance->date);
    cli_table_add(table, "%s", entry->complete ? "complete" : "unfinished");
    if (tags)
        cli_table_add(table, "%s", entry->tags);
}

static enum vbs_status list_table(struct cli *cli, const struct vbs_store_list *list,
                                  const struct profiles_filter *filter)
{
    static const struct cli_column COLUMNS[] = {
        {"id", true},      {"model", false},  {"input", true},   {"backend", false},
        {"device", false}, {"threads", true}, {"batches", true}, {"rows", true},
        {"date", false},   {"state", false},  {"tags", false},
    };
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof COLUMNS[0]};
    bool tags = false;

    for (int i = 0; i < list->n_entries; i++)
        tags = tags || list->entries[i].tags[0];
    table.n_columns -= !tags;
    for (int i = 0; i < list->n_entries; i++)
        if (passes(filter, &list->entries[i]))
            add_entry(&table, &list->entries[i], tags);
    return cli_table_print(cli, &table);
}

static bool passes_any(const struct profiles_filter *filter, const struct vbs_store_list *list)
{
    for (int i = 0; i < list->n_entries; i++)
        if (passes(filter, &list->entries[i]))
            return true;
    return false;
}

/* Says on standard error why a list is empty. */
static void note_empty(struct cli *cli, const struct vbs_store_list *list,
                       const struct profiles_filter *filter)
{
    struct vbs_text text = {0};

    if (list->n_entries == 0) {
        cli_note(cli, "'%.300s' has no profiles; 'vbslab measure MODEL' makes one", cli->db_path);
        return;
    }
    if (filter->model)
        vbs_text_addf(&text, " of model '%.100s'", filter->model);
    if (filter->backend)
        vbs_text_addf(&text, " of backend '%.100s'", filter->backend);
    if (filter->device)
        vbs_text_addf(&text, " of a device with '%.100s' in its name", filter->device);
    cli_note(cli, "'%.300s' has no profile%s; 'vbslab profiles' lists all", cli->db_path,
             text.data ? text.data : "");
    vbs_text_clear(&text);
}

static enum vbs_status list(struct cli *cli, bool json, const struct profiles_filter *filter)
{
    struct vbs_store_list *entries = NULL;
    struct vbs_store *store = NULL;
    enum vbs_status status = cli_open_store(cli, false, &store);

    if (status == VBS_OK)
        status = vbs_store_profiles(&cli->ctx, store, &entries);
    if (status == VBS_OK && json)
        status = list_json(cli, entries, filter);
    else if (status == VBS_OK && passes_any(filter, entries))
        status = list_table(cli, entries, filter);
    else if (status == VBS_OK)
        note_empty(cli, entries, filter);
    vbs_store_list_free(entries);
    vbs_store_close(store);
    return status;
}

/* ---- profiles show ---- */

/* Puts statistics, but none where nothing was measured. */
static void put_statistics(json_t *object, double mad_us, double low_us, double high_us, int n_runs,
                           bool *failed)
{
    if (n_runs == 0)
        return;
    cli_json_put(object, "mad_us", json_real(mad_us), failed);
    cli_json_put(object, "low_us", json_real(low_us), failed);
    cli_json_put(object, "high_us", json_real(high_us), failed);
    cli_json_put(object, "n_runs", json_integer(n_runs), failed);
}

static json_t *row_json(const struct vbs_profile *profile, int batch,
                        const struct vbs_profile_row *row, bool *failed)
{
    json_t *object = json_object();

    cli_json_put(object, "batch", json_integer(batch), failed);
    if (row->rows > 0)
        cli_json_put(object, "rows", json_integer(row->rows), failed);
    cli_json_put(object, "algorithm", json_string(profile->algorithms[row->algorithm]), failed);
    cli_json_put(object, "time_us", json_real(row->time_us), failed);
    cli_json_put(object, "ws_bytes", json_integer(row->ws_bytes), failed);
    cli_json_put(object, "packed_bytes", json_integer(row->weight_bytes), failed);
    cli_json_put(object, "form", json_integer(row->format), failed);
    cli_json_put(object, "parts", json_integer(row->n_slices), failed);
    put_statistics(object, row->mad_us, row->low_us, row->high_us, row->n_runs, failed);
    return object;
}

/* Makes a list of the factor of copies and those of all layers. */
static json_t *beside_json(const double *beside, int n_layers, bool *failed)
{
    json_t *list = json_array();

    for (int layer = 0; layer <= n_layers; layer++)
        cli_json_append(list, json_real(beside[layer]), failed);
    return list;
}

static json_t *copy_json(const struct vbs_copy *copy, int n_layers, bool *failed)
{
    json_t *object = json_object(), *rows = json_array();

    for (int i = 0; i < copy->n_rows; i++) {
        const struct vbs_copy_row *row = &copy->rows[i];
        json_t *item = json_object();

        cli_json_put(item, "bytes", json_integer(row->bytes), failed);
        cli_json_put(item, "time_us", json_real(row->time_us), failed);
        put_statistics(item, row->mad_us, row->low_us, row->high_us, row->n_runs, failed);
        cli_json_append(rows, item, failed);
    }
    cli_json_put(object, "source", json_string(copy->source), failed);
    cli_json_put(object, "latency_us", json_real(copy->link.latency_us), failed);
    cli_json_put(object, "bytes_per_us", json_real(copy->link.bytes_per_us), failed);
    cli_json_put(object, "error_percent", json_real(copy->error_percent), failed);
    cli_json_put(object, "rows", rows, failed);
    if (copy->link.beside)
        cli_json_put(object, "beside", beside_json(copy->link.beside, n_layers, failed), failed);
    return object;
}

static json_t *reaches_json(const struct vbs_profile_layer *layer, bool *failed)
{
    json_t *reaches = json_array();

    for (int i = 0; i < layer->n_inputs; i++) {
        const struct vbs_reach *reach = &layer->reaches[i];
        json_t *object = json_object();

        cli_json_put(object, "step", json_integer(reach->step), failed);
        cli_json_put(object, "unit", json_integer(reach->unit), failed);
        cli_json_put(object, "low", json_integer(reach->low), failed);
        cli_json_put(object, "high", json_integer(reach->high), failed);
        cli_json_append(reaches, object, failed);
    }
    return reaches;
}

static json_t *layer_json(const struct vbs_profile *profile, int id, bool *failed)
{
    const struct vbs_profile_layer *layer = &profile->layers[id];
    json_t *object = json_object(), *inputs = json_array(), *rows = json_array();
    const struct vbs_profile_stripe *stripes;
    int n_stripes;

    for (int i = 0; i < layer->n_inputs; i++)
        cli_json_append(inputs, json_integer(layer->inputs[i]), failed);
    for (int b = 0; b < profile->n_batches; b++) {
        int n_rows;
        const struct vbs_profile_row *row = vbs_profile_rows(profile, id, b, &n_rows);

        for (int i = 0; i < n_rows; i++)
            cli_json_append(rows, row_json(profile, profile->batches[b], &row[i], failed), failed);
    }
    stripes = vbs_profile_stripes(profile, id, &n_stripes);
    for (int i = 0; i < n_stripes; i++)
        cli_json_append(rows, row_json(profile, stripes[i].batch, &stripes[i].row, failed), failed);
    cli_json_put(object, "layer", json_integer(id), failed);
    cli_json_put(object, "name", json_string(layer->name), failed);
    cli_json_put(object, "kind", json_string(layer->kind), failed);
    cli_json_put(object, "inputs", inputs, failed);
    cli_json_put(object, "in_bytes", json_integer(layer->in_bytes), failed);
    cli_json_put(object, "out_bytes", json_integer(layer->out_bytes), failed);
    cli_json_put(object, "weight_bytes", json_integer(layer->weight_bytes), failed);
    cli_json_put(object, "channels", json_integer(layer->channels), failed);
    cli_json_put(object, "in_place", json_boolean(layer->in_place), failed);
    if (layer->rows > 0)
        cli_json_put(object, "out_rows", json_integer(layer->rows), failed);
    if (layer->reaches)
        cli_json_put(object, "reach", reaches_json(layer, failed), failed);
    cli_json_put(object, "rows", rows, failed);
    return object;
}

static enum vbs_status show_json(struct cli *cli, const struct vbs_profile *profile, int64_t id)
{
    bool failed = false;
    json_t *root = json_object(), *batches = json_array(), *layers = json_array();
    json_t *copies = json_array();
    char hash[VBS_PROFILE_HASH_SIZE];

    for (int b = 0; b < profile->n_batches; b++)
        cli_json_append(batches, json_integer(profile->batches[b]), &failed);
    for (int layer = 1; layer <= profile->n_layers; layer++)
        cli_json_append(layers, layer_json(profile, layer, &failed), &failed);
    for (int i = 0; i < profile->n_copies; i++)
        cli_json_append(copies, copy_json(&profile->copies[i], profile->n_layers, &failed),
                        &failed);
    vbs_profile_hash(profile, hash);
    cli_json_put(root, "id", json_integer(id), &failed);
    cli_json_put(root, "hash", json_string(hash), &failed);
    put_provenance(root, &profile->provenance, &failed);
    cli_json_put(root, "input_bytes", json_integer(profile->layers[0].out_bytes), &failed);
    if (profile->layers[0].rows > 0)
        cli_json_put(root, "input_rows", json_integer(profile->layers[0].rows), &failed);
    cli_json_put(root, "batches", batches, &failed);
    cli_json_put(root, "copies", copies, &failed);
    if (profile->speed.flops_per_us > 0)
        cli_json_put(root, "speed", cli_speed_json(&profile->speed, &failed), &failed);
    cli_json_put(root, "layers", layers, &failed);
    return cli_json_print(cli, root, failed);
}

static void print_provenance(const char *key, const char *value)
{
    if (value[0] == '\0')
        return;
    printf("%-8s ", key);
    cli_print_name(value);
    putchar('\n');
}

static void print_copies(const struct vbs_profile *profile)
{
    char time[32];

    for (int i = 0; i < profile->n_copies; i++) {
        const struct vbs_copy *copy = &profile->copies[i];

        printf("%-8s ", "copies");
        cli_print_name(copy->source);
        printf(": ");
        cli_print_rate(&copy->link);
        printf(" after %s, within %.1f%%",
               cli_format_time(copy->link.latency_us, time, sizeof time), copy->error_percent);
        if (copy->link.beside)
            printf("; beside layers %.1f times as long", copy->link.beside[0]);
        printf("\n");
    }
}

/* Returns how many layers have rows of stripes. */
static int count_striped(const struct vbs_profile *profile)
{
    int n_layers = 0, n;

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        (void)vbs_profile_stripes(profile, layer, &n);
        n_layers += n > 0;
    }
    return n_layers;
}

/* Prints the numbers of rows of all stripes, and how many layers have any. */
static void print_stripes(const struct vbs_profile *profile)
{
    int n_layers = count_striped(profile), last = 0;

    if (!vbs_profile_has_stripes(profile))
        return;
    if (n_layers == 0) {
        printf("%-8s none: no layer has kernels on rows\n", "stripes");
        return;
    }
    printf("%-8s of", "stripes");
    for (int next = INT_MAX; last < INT_MAX; last = next, next = INT_MAX) {
        for (int layer = 1; layer <= profile->n_layers; layer++) {
            int n;
            const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n);

            for (int i = 0; i < n; i++)
                if (stripes[i].row.rows > last && stripes[i].row.rows < next)
                    next = stripes[i].row.rows;
        }
        if (next < INT_MAX)
            printf(" %d", next);
    }
    printf(" rows, in %d of %d layers\n", n_layers, profile->n_layers);
}

static void print_head(const struct vbs_profile *profile, int64_t id)
{
    const struct vbs_provenance *provenance = &profile->provenance;
    char number[32], hash[VBS_PROFILE_HASH_SIZE];

    if (id) {
        snprintf(number, sizeof number, "%lld", (long long)id);
        print_provenance("profile", number);
    }
    vbs_profile_hash(profile, hash);
    print_provenance("hash", hash);
#define PRINT(member) print_provenance(#member, provenance->member);
    VBS_PROVENANCE_TEXTS(PRINT)
#undef PRINT
    if (provenance->threads) {
        snprintf(number, sizeof number, "%d", provenance->threads);
        print_provenance("threads", number);
    }
    printf("%-8s %d:", "batches", profile->n_batches);
    for (int b = 0; b < profile->n_batches; b++)
        printf(" %d", profile->batches[b]);
    printf("\n");
    print_stripes(profile);
    print_copies(profile);
    if (profile->speed.flops_per_us > 0)
        printf("%-8s %.1f Gflop/s, %.1f GB/s from the last-level cache, %.1f GB/s from memory\n",
               "speed", profile->speed.flops_per_us / 1e3, profile->speed.cache_bytes_per_us / 1e3,
               profile->speed.memory_bytes_per_us / 1e3);
    printf("\n");
}

static const struct vbs_profile_row *fastest(const struct vbs_profile *profile, int layer,
                                             int batch_index)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, batch_index, &n_rows);
    const struct vbs_profile_row *best = rows;

    for (int i = 1; i < n_rows; i++)
        if (rows[i].time_us < best->time_us)
            best = &rows[i];
    return best;
}

/* Adds the cells of the fastest row of a layer at a batch: time per sample, algorithm, workspace of
 * the batch. */
static void add_best(struct cli_table *table, const struct vbs_profile *profile, int layer,
                     int batch_index, bool with_workspace, double *total_us)
{
    const struct vbs_profile_row *best = fastest(profile, layer, batch_index);
    double per_sample_us = best->time_us / profile->batches[batch_index];
    char time[32];

    *total_us += per_sample_us;
    cli_table_add(table, "%s", cli_format_time(per_sample_us, time, sizeof time));
    cli_table_add(table, "%s", profile->algorithms[best->algorithm]);
    if (with_workspace)
        add_bytes(table, best->ws_bytes);
}

static void add_inputs(struct cli_table *table, const struct vbs_profile_layer *layer)
{
    struct vbs_text text = {0};

    for (int i = 0; i < layer->n_inputs; i++)
        vbs_text_addf(&text, "%s%d", i ? "," : "", layer->inputs[i]);
    if (text.failed)
        table->failed = true;
    else
        cli_table_add(table, "%s", text.data);
    vbs_text_clear(&text);
}

static void add_layer(struct cli_table *table, const struct vbs_profile *profile, int id)
{
    const struct vbs_profile_layer *layer = &profile->layers[id];

    cli_table_add(table, "%d", id);
    cli_table_add(table, "%s", layer->name);
    cli_table_add(table, "%s", layer->kind);
    add_inputs(table, layer);
    add_bytes(table, layer->out_bytes);
    add_bytes(table, layer->weight_bytes);
}

static void add_totals(struct cli_table *table, const struct vbs_profile *profile,
                       const double totals_us[2], int n_shown)
{
    int64_t weight_bytes = 0;
    char time[32];

    for (int id = 1; id <= profile->n_layers; id++)
        weight_bytes += profile->layers[id].weight_bytes;
    cli_table_add(table, "%d", profile->n_layers);
    cli_table_add(table, "in all");
    for (int i = 0; i < 3; i++)
        cli_table_add(table, "%s", "");
    add_bytes(table, weight_bytes);
    for (int i = 0; i < n_shown; i++) {
        cli_table_add(table, "%s", cli_format_time(totals_us[i], time, sizeof time));
        cli_table_add(table, "%s", "");
    }
    cli_table_add(table, "%s", "");
}

/* Prints one line for each layer: the fastest row at batch 1 and at the largest batch. Only the
 * latter's workspace is shown, to keep lines short. */
static enum vbs_status show_table(struct cli *cli, const struct vbs_profile *profile, int64_t id)
{
    int last = profile->n_batches - 1, n_shown = last > 0 ? 2 : 1;
    double totals_us[2] = {0, 0};
    char heading[40], algorithm[40];
    const struct cli_column one[] = {
        {"layer", true},     {"name", false},   {"kind", false},     {"from", false},
        {"out", true},       {"weights", true}, {"time at 1", true}, {"algorithm at 1", false},
        {"workspace", true},
    };
    const struct cli_column two[] = {
        {"layer", true}, {"name", false},    {"kind", false},     {"from", false},
        {"out", true},   {"weights", true},  {"time at 1", true}, {"algorithm at 1", false},
        {heading, true}, {algorithm, false}, {"workspace", true},
    };
    struct cli_table table = {.columns = last ? two : one,
                              .n_columns =
                                  last ? sizeof two / sizeof two[0] : sizeof one / sizeof one[0]};

    snprintf(heading, sizeof heading, "time at %d", profile->batches[last]);
    snprintf(algorithm, sizeof algorithm, "algorithm at %d", profile->batches[last]);
    cli_flow_begin(cli);
    print_head(profile, id);
    printf("out, time: of one sample; workspace: of a step at batch %d; the fastest algorithms\n\n",
           profile->batches[last]);
    cli_flow_end(cli);
    for (int layer = 1; layer <= profile->n_layers; layer++) {
        add_layer(&table, profile, layer);
        add_best(&table, profile, layer, 0, last == 0, &totals_us[0]);
        if (n_shown == 2)
            add_best(&table, profile, layer, last, true, &totals_us[1]);
    }
    add_totals(&table, profile, totals_us, n_shown);
    return cli_table_print(cli, &table);
}

static enum vbs_status show(struct cli *cli, const char *word, bool json)
{
    struct vbs_profile *profile = NULL;
    int64_t id = 0;
    enum vbs_status status = cli_load_profile(cli, word, &profile, &id);

    if (status == VBS_OK)
        status = json ? show_json(cli, profile, id) : show_table(cli, profile, id);
    vbs_profile_free(profile);
    return status;
}

/* ---- profiles export, profiles import ---- */

/* Finds a text of a profile that spreadsheets would take for a formula; null: there is none. */
static const char *find_formula(const struct vbs_profile *profile)
{
#define TEXT(member) profile->provenance.member,
    const char *const texts[] = {VBS_PROVENANCE_TEXTS(TEXT)};
#undef TEXT

    for (int k = 1; k <= profile->n_layers; k++) {
        if (vbs_text_has_formula(profile->layers[k].name))
            return profile->layers[k].name;
        if (vbs_text_has_formula(profile->layers[k].kind))
            return profile->layers[k].kind;
    }
    for (int i = 0; i < profile->n_algorithms; i++)
        if (vbs_text_has_formula(profile->algorithms[i]))
            return profile->algorithms[i];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (vbs_text_has_formula(texts[i]))
            return texts[i];
    return NULL;
}

/* Profiles are read back, so that their texts are written as they are. */
static void warn_of_formula(struct cli *cli, const struct vbs_profile *profile)
{
    const char *formula = find_formula(profile);

    if (formula)
        cli_warn(cli,
                 "'%.60s' is a formula for spreadsheets; one that opens the file must take its "
                 "columns as text",
                 formula);
}

static enum vbs_status export_csv(struct cli *cli, const char *word, const char *path)
{
    struct vbs_profile *profile = NULL;
    int64_t id;
    enum vbs_status status = cli_load_profile(cli, word, &profile, &id);

    if (status == VBS_OK)
        status = vbs_profile_write_csv(&cli->ctx, profile, path);
    if (status == VBS_OK)
        warn_of_formula(cli, profile);
    vbs_profile_free(profile);
    return status;
}

static enum vbs_status import_csv(struct cli *cli, const char *path)
{
    struct vbs_profile *profile = NULL;
    struct vbs_store *store = NULL;
    int64_t id = 0;
    enum vbs_status status = vbs_profile_read_csv(&cli->ctx, path, &profile);

    if (status != VBS_OK)
        goto done;
    status = cli_open_store(cli, true, &store);
    if (status != VBS_OK)
        goto done;
    status = vbs_store_save(&cli->ctx, store, profile, &id);
    if (status != VBS_OK)
        goto done;
    printf("%lld\n", (long long)id);
done:
    vbs_store_close(store);
    vbs_profile_free(profile);
    return status;
}

/* ---- profiles rm, profiles tag, profiles untag ---- */

/* Finds the profile of an id or a tag. The name of a model stands for no profile here, because it
 * may be another one tomorrow. */
static enum vbs_status find_id(struct cli *cli, struct vbs_store *store, const char *word,
                               int64_t *id)
{
    if (isalpha((unsigned char)word[0]))
        return vbs_store_find_tag(&cli->ctx, store, word, id);
    return vbs_parse_int(&cli->ctx, "profile", word, 1, INT64_MAX, id);
}

/* Opens a store that is changed but not made. */
static enum vbs_status open_to_change(struct cli *cli, struct vbs_store **store)
{
    struct vbs_store *reader = NULL;
    enum vbs_status status = cli_open_store(cli, false, &reader);

    vbs_store_close(reader);
    return status == VBS_OK ? cli_open_store(cli, true, store) : status;
}

static enum vbs_status remove_profiles(struct cli *cli, int n, const char *const *words)
{
    int64_t *ids = calloc((size_t)n, sizeof *ids);
    struct vbs_store *store = NULL;
    enum vbs_status status = ids ? VBS_OK : vbs_no_memory(&cli->ctx);

    if (status == VBS_OK)
        status = open_to_change(cli, &store);
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = find_id(cli, store, words[i], &ids[i]);
    if (status == VBS_OK)
        status = vbs_store_delete(&cli->ctx, store, ids, n);
    vbs_store_close(store);
    free(ids);
    return status;
}

static enum vbs_status tag_profile(struct cli *cli, const char *word, const char *tag)
{
    struct vbs_store *store = NULL;
    int64_t id = 0;
    enum vbs_status status = open_to_change(cli, &store);

    if (status == VBS_OK)
        status = find_id(cli, store, word, &id);
    if (status == VBS_OK)
        status = vbs_store_tag(&cli->ctx, store, id, tag);
    vbs_store_close(store);
    return status;
}

static enum vbs_status untag(struct cli *cli, const char *tag)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = open_to_change(cli, &store);

    if (status == VBS_OK)
        status = vbs_store_untag(&cli->ctx, store, tag);
    vbs_store_close(store);
    return status;
}

/* ---- profiles teaching ---- */

static enum vbs_status list_teaching_json(struct cli *cli)
{
    const struct vbs_teaching_profile *entry;
    bool failed = false;
    json_t *root = json_object(), *profiles = json_array();

    for (int i = 0; (entry = vbs_teaching_profile_at(i)) != NULL; i++) {
        json_t *object = json_object();

        cli_json_put(object, "name", json_string(entry->name), &failed);
        cli_json_put(object, "about", json_string(entry->about), &failed);
        cli_json_put(object, "request", json_integer(entry->request), &failed);
        cli_json_put(object, "memory_bytes", json_integer(entry->memory_bytes), &failed);
        cli_json_put(object, "weights", json_string(vbs_weights_word(entry->weights)), &failed);
        cli_json_append(profiles, object, &failed);
    }
    cli_json_put(root, "profiles", profiles, &failed);
    return cli_json_print(cli, root, failed);
}

static enum vbs_status list_teaching(struct cli *cli, bool json)
{
    static const struct cli_column COLUMNS[] = {{"name", false}, {"try", false}, {"shows", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof COLUMNS[0]};
    const struct vbs_teaching_profile *entry;
    enum vbs_status status;

    if (json)
        return list_teaching_json(cli);
    for (int i = 0; (entry = vbs_teaching_profile_at(i)) != NULL; i++) {
        cli_table_add(&table, "%s", entry->name);
        cli_table_add(&table, "%s", entry->options);
        cli_table_add(&table, "%s", entry->about);
    }
    status = cli_table_print(cli, &table);
    if (status == VBS_OK)
        printf("\nfor example: vbslab compare %s %s\n", vbs_teaching_profile_at(0)->name,
               vbs_teaching_profile_at(0)->options);
    return status;
}

/* ---- the command ---- */

/* The words after "profiles", and how many arguments each takes; N_ANY: one or more. */
static const struct {
    const char *word;
    int n_arguments;
    const char *usage;
} ACTIONS[] = {
    {"show", 1, "'show' takes one profile: its id, its tag, a .csv file or a model's name"},
    {"export", 2, "'export' takes a profile and the .csv file to write, '-' for standard output"},
    {"import", 1, "'import' takes one .csv file, '-' for standard input"},
    {"merge", N_ANY, "'merge' takes the stores whose contents come into the store of --db"},
    {"rm", N_ANY, "'rm' takes the ids or tags of the profiles to delete"},
    {"tag", 2, "'tag' takes the id of a profile, or a tag that it has, and the tag to give to it"},
    {"untag", 1, "'untag' takes the tag to take away"},
    {"teaching", 0, "'teaching' takes no arguments"},
};

enum profiles_action { SHOW, EXPORT, IMPORT, MERGE, REMOVE, TAG, UNTAG, TEACHING, N_ACTIONS };

static int unknown_action(struct cli *cli, const char *word)
{
    const char *words[N_ACTIONS], *nearest;

    for (int i = 0; i < N_ACTIONS; i++)
        words[i] = ACTIONS[i].word;
    nearest = vbs_nearest_name(word, words, N_ACTIONS);
    if (nearest)
        return cli_usage(cli, "no '%s' of profiles; did you mean '%s'?", word, nearest);
    return cli_usage(cli,
                     "no '%s' of profiles; there are 'show', 'export', 'import', 'merge', 'rm', "
                     "'tag', 'untag' and 'teaching'",
                     word);
}

static int run_action(struct cli *cli, enum profiles_action action, bool json, int n,
                      const char *const *arguments)
{
    enum vbs_status status = VBS_OK;

    switch (action) {
    case SHOW:
        status = show(cli, arguments[0], json);
        break;
    case EXPORT:
        status = export_csv(cli, arguments[0], arguments[1]);
        break;
    case IMPORT:
        status = import_csv(cli, arguments[0]);
        break;
    case MERGE:
        status = profiles_merge(cli, json, n, arguments);
        break;
    case REMOVE:
        status = remove_profiles(cli, n, arguments);
        break;
    case TAG:
        status = tag_profile(cli, arguments[0], arguments[1]);
        break;
    case TEACHING:
        status = list_teaching(cli, json);
        break;
    default:
        status = untag(cli, arguments[0]);
        break;
    }
    return cli_end(cli, status);
}

static int run_profiles(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    bool json = cli_value(cli, values, "json") != NULL;
    struct profiles_filter filter = {.model = cli_value(cli, values, "model"),
                                     .backend = cli_value(cli, values, "backend"),
                                     .device = cli_value(cli, values, "device")};
    enum vbs_status status;

    if (n_arguments == 0) {
        status = list(cli, json, &filter);
        return cli_end(cli, status);
    }
    for (int i = 0; i < N_ACTIONS; i++) {
        int n = n_arguments - 1;

        if (strcmp(arguments[0], ACTIONS[i].word) != 0)
            continue;
        if (ACTIONS[i].n_arguments == N_ANY ? n == 0 : n != ACTIONS[i].n_arguments)
            return cli_usage(cli, "%s", ACTIONS[i].usage);
        if (json && i != SHOW && i != MERGE && i != TEACHING)
            return cli_usage(cli,
                             "--json goes with 'profiles', 'profiles show', 'profiles merge' and "
                             "'profiles teaching'");
        if (filter.model || filter.backend || filter.device)
            return cli_usage(cli, "--model, --backend and --device go with the list of profiles");
        return run_action(cli, (enum profiles_action)i, json, n, arguments + 1);
    }
    return unknown_action(cli, arguments[0]);
}

static const struct cli_option OPTIONS[] = {
    {"json", NULL, "print JSON"},
    {"model", "NAME", "list only profiles of this model"},
    {"backend", "NAME", "list only profiles of this backend"},
    {"device", "TEXT", "list only profiles of devices whose name has this text in it"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {NULL, NULL, NULL},
};

const struct cli_command cli_profiles = {
    .name = "profiles",
    .summary = "the store's profiles: list, show, export, import, merge, delete and tag; and "
               "profiles to teach with",
    .usage = "[--model NAME] [--backend NAME] [--device TEXT] [--json] | show PROFILE [--json] | "
             "export PROFILE FILE.csv | import FILE.csv | merge STORE... [--json] | rm ID... | "
             "tag ID TAG | untag TAG | teaching [--json]",
    .options = OPTIONS,
    .arguments =
        (const struct cli_argument[]){
            {CLI_ARGUMENT_PROFILE},
            {"FILE.csv", "a profile as a table; - is standard input or output"},
            {"STORE", "a store whose profiles, samples and tags are copied into the store of --db"},
            {"ID", "the number of a profile in the list, or one of its tags"},
            {"TAG", "a name for one profile: letters, digits and . _ + -, a letter first"},
            {0}},
    .example = "vbslab profiles export 3 googlenet.csv",
    .run = run_profiles,
};
