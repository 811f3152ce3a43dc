#include "cli/profiles/profiles.h"

#include "base/fail.h"
#include "cli/print/print.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_NOTES 20 /* of a kind and a store */

struct merging {
    const char *const *paths;
    int n; /* stores in all */
    int n_merged;
    struct vbs_merge_report **reports; /* [n_merged] */
    struct vbs_progress bar;
};

/* ---- results ---- */

static json_t *note_json(const struct vbs_merge_note *note, bool *failed)
{
    json_t *object = json_object();

    cli_json_put(object, "kind", json_string(vbs_merge_note_word(note->kind)), failed);
    cli_json_put(object, "name", json_string(note->name), failed);
    cli_json_put(object, "hash", note->hash[0] ? json_string(note->hash) : json_null(), failed);
    cli_json_put(object, "other", note->other[0] ? json_string(note->other) : json_null(), failed);
    cli_json_put(object, "text", json_string(note->text), failed);
    return object;
}

static json_t *store_json(const char *path, const struct vbs_merge_report *report, bool *failed)
{
    json_t *object = json_object(), *notes = json_array();

    for (int i = 0; i < report->n_notes; i++)
        cli_json_append(notes, note_json(&report->notes[i], failed), failed);
    cli_json_put(object, "store", json_string(path), failed);
    cli_json_put(object, "same_file", json_boolean(report->same_file), failed);
    cli_json_put(object, "n_profiles", json_integer(report->n_profiles), failed);
    cli_json_put(object, "n_added", json_integer(report->n_added), failed);
    cli_json_put(object, "n_improved", json_integer(report->n_improved), failed);
    cli_json_put(object, "n_samples", json_integer(report->n_samples), failed);
    cli_json_put(object, "n_tags", json_integer(report->n_tags), failed);
    cli_json_put(object, "n_unfinished", json_integer(report->n_unfinished), failed);
    cli_json_put(object, "n_damaged", json_integer(report->n_damaged), failed);
    cli_json_put(object, "n_conflicts", json_integer(report->n_conflicts), failed);
    cli_json_put(object, "notes", notes, failed);
    cli_json_put(object, "n_timings", json_integer(report->n_timings), failed);
    cli_json_put(object, "n_timings_added", json_integer(report->n_timings_added), failed);
    cli_json_put(object, "n_timings_improved", json_integer(report->n_timings_improved), failed);
    cli_json_put(object, "n_studies", json_integer(report->n_studies), failed);
    cli_json_put(object, "n_trials", json_integer(report->n_trials), failed);
    cli_json_put(object, "n_trials_added", json_integer(report->n_trials_added), failed);
    cli_json_put(object, "n_trials_improved", json_integer(report->n_trials_improved), failed);
    cli_json_put(object, "n_networks", json_integer(report->n_networks), failed);
    return object;
}

static enum vbs_status print_json(struct cli *cli, const struct merging *m)
{
    bool failed = false;
    json_t *root = json_object(), *stores = json_array();

    for (int i = 0; i < m->n_merged; i++)
        cli_json_append(stores, store_json(m->paths[i], m->reports[i], &failed), &failed);
    cli_json_put(root, "stores", stores, &failed);
    return cli_json_print(cli, root, failed);
}

static enum vbs_status print_table(struct cli *cli, const struct merging *m)
{
    static const struct cli_column COLUMNS[] = {
        {"store", false},     {"profiles", true},  {"added", true}, {"improved", true},
        {"tags", true},       {"samples", true},   {"times", true}, {"trials", true},
        {"unfinished", true}, {"conflicts", true},
    };
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof COLUMNS[0]};

    for (int i = 0; i < m->n_merged; i++) {
        const struct vbs_merge_report *report = m->reports[i];
        const int64_t numbers[] = {report->n_profiles,
                                   report->n_added,
                                   report->n_improved,
                                   report->n_tags,
                                   report->n_samples,
                                   report->n_timings_added + report->n_timings_improved,
                                   report->n_trials_added + report->n_trials_improved,
                                   report->n_unfinished,
                                   report->n_conflicts};

        cli_table_add(&table, "%s", m->paths[i]);
        for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
            cli_table_add(&table, "%lld", (long long)numbers[k]);
    }
    return cli_table_print(cli, &table);
}

static void print_note(struct cli *cli, const struct vbs_merge_note *note)
{
    if (note->kind == VBS_MERGE_UNFINISHED)
        cli_note(cli, "%s", note->text);
    else
        cli_warn(cli, "%s", note->text);
}

/* Prints the first notes of each kind, and how many more there are: two machines of a kind measure
 * all the same geometries. */
static void print_notes(struct cli *cli, const char *path, const struct vbs_merge_report *report)
{
    int n_of[VBS_N_MERGE_NOTES] = {0};

    if (report->same_file)
        cli_note(cli, "'%.300s' is the store itself", path);
    for (int i = 0; i < report->n_notes; i++)
        if (n_of[report->notes[i].kind]++ < SHOWN_NOTES)
            print_note(cli, &report->notes[i]);
    for (int kind = 0; kind < VBS_N_MERGE_NOTES; kind++)
        if (n_of[kind] > SHOWN_NOTES)
            cli_note(cli, "... and %d more of the kind '%s' from '%.200s'; --json has all",
                     n_of[kind] - SHOWN_NOTES, vbs_merge_note_word((enum vbs_merge_note_kind)kind),
                     path);
}

/* ---- the work ---- */

/* Shows the progress of one store as a part of that of all. */
static void report_part(void *self, double done, double left_s, const char *text)
{
    const struct merging *m = self;

    m->bar.report(m->bar.self, (m->n_merged + done) / m->n, m->n == 1 ? left_s : -1, text);
}

/* Finds a store that does not exist before the one that is merged into is made. */
static enum vbs_status check_paths(struct cli *cli, const struct merging *m)
{
    for (int i = 0; i < m->n; i++)
        if (access(m->paths[i], R_OK) != 0)
            return vbs_fail(&cli->ctx, VBS_STORE, "cannot open store '%s': %s", m->paths[i],
                            strerror(errno));
    return VBS_OK;
}

static enum vbs_status merge_store(struct cli *cli, struct merging *m, struct vbs_store *store)
{
    const char *path = m->paths[m->n_merged];
    char *networks = cli_networks_folder(cli->db_path), *from = cli_networks_folder(path);
    struct vbs_merge_options options = {
        .struct_size = sizeof options, .networks = networks, .from_networks = from};
    enum vbs_status status = networks && from ? VBS_OK : vbs_no_memory(&cli->ctx);

    if (m->bar.report)
        options.progress = (struct vbs_progress){.self = m, .report = report_part};
    if (status == VBS_OK)
        status = vbs_store_merge(&cli->ctx, store, path, &options, &m->reports[m->n_merged]);
    free(networks);
    free(from);
    return status;
}

static enum vbs_status merge_stores(struct cli *cli, struct merging *m)
{
    struct vbs_store *store = NULL;
    enum vbs_status status;

    VBS_TRY(check_paths(cli, m));
    VBS_TRY(cli_open_store(cli, true, &store));
    m->bar = cli_progress(cli);
    do
        status = merge_store(cli, m, store);
    while (status == VBS_OK && ++m->n_merged < m->n);
    cli_progress_end(cli);
    vbs_store_close(store);
    return status;
}

enum vbs_status profiles_merge(struct cli *cli, bool json, int n, const char *const *paths)
{
    struct merging m = {
        .paths = paths, .n = n, .reports = calloc((size_t)n, sizeof(struct vbs_merge_report *))};
    enum vbs_status status, printed = VBS_OK;

    if (!m.reports)
        return vbs_no_memory(&cli->ctx);
    status = merge_stores(cli, &m);
    for (int i = 0; i < m.n_merged; i++)
        print_notes(cli, paths[i], m.reports[i]);
    if (m.n_merged > 0)
        printed = json ? print_json(cli, &m) : print_table(cli, &m);
    for (int i = 0; i < m.n_merged; i++)
        vbs_merge_report_free(m.reports[i]);
    free(m.reports);
    return status == VBS_OK ? printed : status;
}
