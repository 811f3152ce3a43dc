/*
 * The page of an explanation (docs/explain.md): its JSON, with what the terminal's tables say of
 * each decision and candidate, and the curves of all parts.
 */
#include "base/fail.h"
#include "base/json.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"
#include "report/html/html.h"

#include <stdlib.h>

#define MOST_CANDIDATES 300000 /* of a page */
#define MOST_POINTS     200    /* of the curve of one part */
#define SHOWN_NAME      200    /* characters of a layer's name */
#define SHOWN_COMMAND   4000   /* characters */

/* Refuses what would be too large for a browser. */
static enum vbs_status check_size(const struct cli_explanation *about)
{
    const struct vbs_explanation *made = about->made;
    int64_t n = 0;

    for (int d = 0; made && d < made->n_decisions; d++)
        n += 1 + made->decisions[d].n_candidates;
    if (n <= MOST_CANDIDATES)
        return VBS_OK;
    return vbs_fail(&about->cli->ctx, VBS_USAGE,
                    "the explanation has %lld decisions and candidates, a page at most %d; --from, "
                    "--to and --samples explain a part, and --json has no limit",
                    (long long)n, MOST_CANDIDATES);
}

/* A string of a text that may be cut within a character, or be no UTF-8 at all. */
static json_t *visible_json(const char *text, int limit, bool *failed)
{
    struct vbs_text visible = {0};
    json_t *json;

    vbs_text_add_visible(&visible, text, limit);
    *failed = *failed || visible.failed;
    json = json_string(visible.data ? visible.data : "");
    vbs_text_clear(&visible);
    return json;
}

static json_t *layers_json(const struct cli_explanation *about, bool *failed)
{
    const struct vbs_profile *profile = about->problem->profile;
    json_t *layers = json_array();

    for (int k = 1; k <= profile->n_layers; k++)
        cli_json_append(layers, visible_json(profile->layers[k].name, SHOWN_NAME, failed), failed);
    return layers;
}

/* The curve of a decision's part, as pairs of memory and time; of long ones points that are spread
 * evenly, the first and the last among them. */
static json_t *curve_json(const struct vbs_decision *decision, bool *failed)
{
    json_t *curve = json_array();
    int n = decision->n_points, n_shown = n < MOST_POINTS ? n : MOST_POINTS;

    for (int i = 0; i < n_shown; i++) {
        int at = n_shown > 1 ? (int)((int64_t)i * (n - 1) / (n_shown - 1)) : 0;

        cli_json_append(curve, json_integer(decision->points[at].memory_bytes), failed);
        cli_json_append(curve, json_real(decision->points[at].time_us), failed);
    }
    return curve;
}

/* What the tables of the terminal say of a decision. */
static json_t *shown_json(const struct cli_explanation *about, int index,
                          const struct cli_tree_place *place, bool *failed)
{
    const struct vbs_decision *decision = &about->made->decisions[index];
    json_t *labels = json_array(), *shown;
    char label[64];

    shown = json_pack("{s:i, s:b, s:b, s:b, s:i}", "level", place->level, "rest", place->is_rest,
                      "again", place->is_again, "hidden", place->is_hidden, "points",
                      decision->n_points);
    cli_layers_label(about, decision, label, sizeof label);
    cli_json_put(shown, "layers", visible_json(label, sizeof label, failed), failed);
    for (int c = 0; c < decision->n_candidates; c++) {
        cli_choice_label(about, decision, &decision->candidates[c], label, sizeof label);
        cli_json_append(labels, visible_json(label, sizeof label, failed), failed);
    }
    cli_json_put(shown, "labels", labels, failed);
    if (!place->is_hidden && !place->is_again)
        cli_json_put(shown, "curve", curve_json(decision, failed), failed);
    return shown;
}

static enum vbs_status put_shown(const struct cli_explanation *about, json_t *json, bool *failed)
{
    const struct vbs_explanation *made = about->made;
    int n = made ? made->n_decisions : 0;
    struct cli_tree_place *places = calloc((size_t)n + 1, sizeof *places);
    json_t *shown = json_array();

    if (!places) {
        json_decref(shown);
        return vbs_no_memory(&about->cli->ctx);
    }
    if (made)
        cli_find_places(made, places);
    for (int d = 0; d < n; d++)
        cli_json_append(shown, shown_json(about, d, &places[d], failed), failed);
    free(places);
    cli_json_put(json, "shown", shown, failed);
    cli_json_put(json, "n_cells", json_integer(made ? made->n_cells : 0), failed);
    return VBS_OK;
}

static json_t *command_json(const struct cli *cli, bool *failed)
{
    struct vbs_text command = {0};
    json_t *json;

    cli_quote_command(&command, cli);
    *failed = *failed || command.failed;
    json = visible_json(command.data ? command.data : "", SHOWN_COMMAND, failed);
    vbs_text_clear(&command);
    return json;
}

enum vbs_status cli_write_explanation_page(const struct cli_explanation *about, const char *path)
{
    struct vbs_text text = {0};
    json_t *json, *made;
    enum vbs_status status;

    VBS_TRY(check_size(about));
    VBS_TRY(cli_explanation_json(about, &made));
    json = json_pack("{s:s, s:s, s:o}", "format", "vbslab-explanation-page-1", "vbslab", cli_build,
                     "explanation", made);
    cli_json_put(json, "command", command_json(about->cli, &text.failed), &text.failed);
    cli_json_put(json, "layers", layers_json(about, &text.failed), &text.failed);
    status = put_shown(about, json, &text.failed);
    if (about->schedule)
        cli_json_put(json, "peak_bytes", json_integer(about->schedule->predicted.peak_bytes),
                     &text.failed);
    if (about->schedule)
        cli_json_put(json, "gap_percent", json_real(about->schedule->bound.gap_percent),
                     &text.failed);
    vbs_text_add_json(&text, json, JSON_COMPACT);
    vbs_text_add(&text, "\n");
    json_decref(json);
    if (status == VBS_OK)
        status = vbs_page_write_file(&about->cli->ctx, VBS_PAGE_EXPLANATION, &text, path);
    vbs_text_clear(&text);
    return status;
}
