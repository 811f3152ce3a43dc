#include "cli/mixed/mixed.h"

#include "backend/provenance.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/print/print.h"

#include <inttypes.h>
#include <math.h>

/* ---- rows ---- */

int mixed_rows(const struct mixed_report *r)
{
    int n;

    vbs_mixed_budgets(r->mixed, &n);
    return n * (r->n_bounds + 2);
}

struct mixed_row mixed_row_at(const struct mixed_report *r, int i)
{
    int n, each = r->n_bounds + 2, budget = i / each, at = i % each - 1;
    const struct vbs_mixed_choice *choices = vbs_mixed_choices(r->mixed, &n);
    struct mixed_row row = {.memory_bytes = vbs_mixed_budgets(r->mixed, &n)[budget],
                            .precision = "mixed",
                            .plan = {.time_us = HUGE_VAL}};

    if (at < 0) {
        row.precision = "int8";
        row.choice = &choices[0];
    } else if (at == r->n_bounds) {
        row.precision = "fp32";
        row.choice = &choices[1];
    } else {
        int chosen = r->chosen[budget * r->n_bounds + at];

        row.bound = r->bounds[at].word;
        row.choice = chosen < 0 ? NULL : &choices[chosen];
    }
    if (row.choice)
        row.plan = row.choice->plans[budget];
    return row;
}

static bool fits(const struct mixed_row *row)
{
    return row->plan.time_us < HUGE_VAL;
}

static double per_sample(const struct mixed_report *r, const struct mixed_row *row)
{
    return row->plan.time_us / (double)r->options->problem.request;
}

/* ---- the table ---- */

static void add_loss(struct cli_table *table, const struct mixed_row *row)
{
    const struct vbs_quantize_difference *d = &row->choice->difference;

    if (!row->choice->measured) {
        cli_table_add(table, "%s", "");
        cli_table_add(table, "%s", "");
        return;
    }
    if (isfinite(d->db))
        cli_table_add(table, "%.1f dB", d->db);
    else
        cli_table_add(table, "exact");
    cli_table_add(table, "%" PRId64 " of %" PRId64, d->n - d->n_same, d->n);
}

/* Gives the digits behind the point with which the column of times is exact. */
static int time_decimals(const struct mixed_report *r)
{
    int most = 0;

    for (int i = 0; i < mixed_rows(r); i++) {
        struct mixed_row row = mixed_row_at(r, i);
        int decimals = fits(&row) ? cli_time_decimals(per_sample(r, &row)) : 0;

        most = decimals > most ? decimals : most;
    }
    return most;
}

static void add_row(struct cli_table *table, const struct mixed_report *r, int i, int decimals)
{
    struct mixed_row row = mixed_row_at(r, i);
    char text[48];
    int n_layers;

    vbs_mixed_layers(r->mixed, &n_layers);
    cli_table_add(table, "%s",
                  i % (r->n_bounds + 2) == 0 ? vbs_format_bytes(row.memory_bytes, text, sizeof text)
                                             : "");
    cli_table_add(table, "%s", row.bound ? row.bound : row.precision);
    if (!row.choice || !fits(&row)) {
        cli_table_add(table, "%s", "");
        cli_table_add(table, "%s", row.choice || !row.bound ? "no plan" : "none within");
        for (int c = 4; c < table->n_columns; c++)
            cli_table_add(table, "%s", "");
        return;
    }
    cli_table_add(table, "%d of %d", row.choice->n_kept, n_layers);
    cli_table_add(table, "%s",
                  cli_format_time_with(per_sample(r, &row), decimals, text, sizeof text));
    cli_table_add(table, "%s", cli_format_number(1e6 / per_sample(r, &row), text, sizeof text));
    add_loss(table, &row);
}

static void print_head(const struct mixed_report *r)
{
    const struct vbs_problem *p = &r->options->problem;

    cli_print_name(r->network->name);
    printf(": %" PRId64 " sample%s, io %s, weights %s, planner %s\n\n", p->request,
           p->request == 1 ? "" : "s", vbs_io_word(p->io), vbs_weights_word(p->weights),
           vbs_planner_name(r->options->planner));
}

static void print_kept(const struct mixed_report *r)
{
    int n;
    const struct vbs_mixed_layer *layers = vbs_mixed_layers(r->mixed, &n);
    struct mixed_row row = mixed_row_at(r, 1);
    const char *comma = "";

    if (!r->path || !row.choice)
        return;
    printf("in floats   ");
    for (int i = 0; i < n; i++)
        if (row.choice->kept[i]) {
            printf("%s", comma);
            cli_print_name(layers[i].name);
            comma = ", ";
        }
    printf("%s\n", row.choice->n_kept ? "" : "nothing");
    quantize_print_top1(&r->scores);
    printf("written     '");
    cli_print_name(r->path);
    printf("', whose profile is %" PRId64 "\n", r->profile_id);
}

enum vbs_status mixed_print_table(struct cli *cli, const struct mixed_report *r)
{
    static const struct cli_column COLUMNS[] = {
        {"memory", true},    {"precision", false},   {"in floats", true},  {"time/sample", true},
        {"samples/s", true}, {"output error", true}, {"other class", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 7, .spare = 1 << 4};
    int decimals = time_decimals(r), n_choices;

    for (int i = 0; i < mixed_rows(r); i++)
        add_row(&table, r, i, decimals);
    cli_flow_begin_text(cli);
    print_head(r);
    cli_flow_end(cli);
    VBS_TRY(cli_table_print(cli, &table));
    vbs_mixed_choices(r->mixed, &n_choices);
    cli_flow_begin_text(cli);
    printf("\nplanned     %d choices of layers; each row has the fastest within its bound\n",
           n_choices);
    print_kept(r);
    cli_print_provenance(cli, r->profile, 0);
    cli_flow_end(cli);
    return VBS_OK;
}

/* ---- JSON ---- */

static json_t *finite_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *kept_json(const struct mixed_report *r, const struct vbs_mixed_choice *choice,
                         bool *failed)
{
    int n;
    const struct vbs_mixed_layer *layers = vbs_mixed_layers(r->mixed, &n);
    json_t *kept = json_array();

    for (int i = 0; i < n; i++)
        if (choice->kept[i])
            cli_json_append(kept, json_string(layers[i].name), failed);
    return kept;
}

static void put_plan(json_t *made, const struct mixed_report *r, const struct mixed_row *row,
                     bool *failed)
{
    bool has = fits(row);

    cli_json_put(made, "time_us", has ? json_real(row->plan.time_us) : json_null(), failed);
    cli_json_put(made, "per_sample_us", has ? json_real(per_sample(r, row)) : json_null(), failed);
    cli_json_put(made, "samples_per_s", has ? json_real(1e6 / per_sample(r, row)) : json_null(),
                 failed);
    cli_json_put(made, "peak_bytes", has ? json_integer(row->plan.peak_bytes) : json_null(),
                 failed);
}

static json_t *row_json(const struct mixed_report *r, int i, bool *failed)
{
    struct mixed_row row = mixed_row_at(r, i);
    const struct vbs_mixed_choice *c = row.choice;
    json_t *made = json_object();
    bool measured = c && c->measured;

    cli_json_put(made, "memory_bytes", json_integer(row.memory_bytes), failed);
    cli_json_put(made, "precision", json_string(row.precision), failed);
    cli_json_put(made, "bound", row.bound ? json_string(row.bound) : json_null(), failed);
    put_plan(made, r, &row, failed);
    cli_json_put(made, "layers_in_floats", c ? json_integer(c->n_kept) : json_null(), failed);
    cli_json_put(made, "kept", c ? kept_json(r, c, failed) : json_null(), failed);
    cli_json_put(made, "predicted_db",
                 c ? finite_json(vbs_quantize_decibels(c->error)) : json_null(), failed);
    cli_json_put(made, "outputs_db", measured ? finite_json(c->difference.db) : json_null(),
                 failed);
    cli_json_put(made, "changed",
                 measured ? json_integer(c->difference.n - c->difference.n_same) : json_null(),
                 failed);
    return made;
}

static json_t *layers_json(const struct mixed_report *r, bool *failed)
{
    int n;
    const struct vbs_mixed_layer *layers = vbs_mixed_layers(r->mixed, &n);
    json_t *made = json_array();

    for (int i = 0; i < n; i++) {
        json_t *layer = json_object();

        cli_json_put(layer, "name", json_string(layers[i].name), failed);
        cli_json_put(layer, "kind", json_string(layers[i].kind), failed);
        cli_json_put(layer, "alone_db", finite_json(vbs_quantize_decibels(layers[i].error)),
                     failed);
        cli_json_append(made, layer, failed);
    }
    return made;
}

static void put_written(json_t *root, const struct mixed_report *r, bool *failed)
{
    const struct quantize_scores *s = &r->scores;

    cli_json_put(root, "output", r->path ? json_string(r->path) : json_null(), failed);
    cli_json_put(root, "profile", r->path ? json_integer(r->profile_id) : json_null(), failed);
    cli_json_put(root, "test_images", s->scored ? json_integer(s->after.n_images) : json_null(),
                 failed);
    cli_json_put(root, "top1_percent",
                 s->scored ? json_real(quantize_accuracy(&s->before)) : json_null(), failed);
    cli_json_put(root, "top1_percent_after",
                 s->scored ? json_real(quantize_accuracy(&s->after)) : json_null(), failed);
}

enum vbs_status mixed_print_json(struct cli *cli, const struct mixed_report *r)
{
    const struct vbs_problem *p = &r->options->problem;
    json_t *root = json_object(), *rows = json_array();
    bool failed = false;
    int n;
    const struct vbs_mixed_choice *choices = vbs_mixed_choices(r->mixed, &n);

    for (int i = 0; i < mixed_rows(r); i++)
        cli_json_append(rows, row_json(r, i, &failed), &failed);
    cli_json_put(root, "format", json_string("vbslab-mixed-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(r->network->name), &failed);
    cli_json_put(root, "data", json_string(r->data), &failed);
    cli_json_put(root, "method", json_string(vbs_quantize_method_word(r->ranges->method)), &failed);
    cli_json_put(root, "planner", json_string(vbs_planner_name(r->options->planner)), &failed);
    cli_json_put(root, "request", json_integer(p->request), &failed);
    cli_json_put(root, "io", json_string(vbs_io_word(p->io)), &failed);
    cli_json_put(root, "weights", json_string(vbs_weights_word(p->weights)), &failed);
    cli_json_put(root, "compared", json_integer(choices[0].difference.n), &failed);
    cli_json_put(root, "choices", json_integer(n), &failed);
    cli_json_put(root, "provenance", cli_provenance_json(r->profile), &failed);
    put_written(root, r, &failed);
    cli_json_put(root, "layers", layers_json(r, &failed), &failed);
    cli_json_put(root, "rows", rows, &failed);
    return cli_json_print(cli, root, failed);
}

/* ---- CSV ---- */

static void add_kept(struct vbs_text *text, const struct mixed_report *r,
                     const struct vbs_mixed_choice *choice)
{
    struct vbs_text kept = {0};
    int n;
    const struct vbs_mixed_layer *layers = vbs_mixed_layers(r->mixed, &n);

    for (int i = 0; choice && i < n; i++)
        if (choice->kept[i])
            vbs_text_addf(&kept, "%s%s", kept.length ? " " : "", layers[i].name);
    vbs_text_add(text, ",");
    vbs_text_add_csv(text, kept.data ? kept.data : "");
    text->failed = text->failed || kept.failed;
    vbs_text_clear(&kept);
}

enum vbs_status mixed_print_csv(struct cli *cli, const struct mixed_report *r)
{
    struct vbs_text text = {0}, provenance = {0};

    vbs_profile_add_columns(&provenance, r->profile);
    vbs_text_add(&text, "memory_bytes,precision,bound,time_us,per_sample_us,samples_per_s,"
                        "peak_bytes,layers_in_floats,predicted_db,outputs_db,changed,compared,"
                        "kept" VBS_PROVENANCE_COLUMNS "\n");
    for (int i = 0; i < mixed_rows(r); i++) {
        struct mixed_row row = mixed_row_at(r, i);
        const struct vbs_mixed_choice *c = row.choice;
        bool measured = c && c->measured;

        vbs_text_addf(&text, "%" PRId64 ",%s,%s", row.memory_bytes, row.precision,
                      row.bound ? row.bound : "");
        vbs_text_add_field(&text, row.plan.time_us);
        vbs_text_add_field(&text, per_sample(r, &row));
        vbs_text_add_field(&text, fits(&row) ? 1e6 / per_sample(r, &row) : NAN);
        vbs_text_add_field(&text, fits(&row) ? (double)row.plan.peak_bytes : NAN);
        vbs_text_add_field(&text, c ? c->n_kept : NAN);
        vbs_text_add_field(&text, c ? vbs_quantize_decibels(c->error) : NAN);
        vbs_text_add_field(&text, measured ? c->difference.db : NAN);
        vbs_text_add_field(&text,
                           measured ? (double)(c->difference.n - c->difference.n_same) : NAN);
        vbs_text_add_field(&text, measured ? (double)c->difference.n : NAN);
        add_kept(&text, r, c);
        vbs_text_add(&text, provenance.data ? provenance.data : "");
        vbs_text_add(&text, "\n");
    }
    text.failed = text.failed || provenance.failed;
    vbs_text_clear(&provenance);
    return cli_text_print(cli, &text);
}
