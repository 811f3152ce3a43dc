#include "cli/quantize/quantize.h"

#include "base/fail.h"
#include "base/text.h"
#include "cli/print/print.h"

#include <inttypes.h>
#include <math.h>

static int64_t weights_of(const struct quantize_report *r)
{
    int64_t n = 0;

    for (int i = 0; i < r->n_rows; i++)
        n += r->rows[i].n_weights;
    return n;
}

double quantize_accuracy(const struct vbs_score *score)
{
    return 100.0 * (double)score->n_right / (double)score->n_images;
}

static double loss(const struct vbs_score *score)
{
    return score->loss_sum / (double)score->n_images;
}

/* ---- the table ---- */

static void add_decibels(struct cli_table *table, double db)
{
    if (isfinite(db))
        cli_table_add(table, "%.1f dB", db);
    else
        cli_table_add(table, "exact");
}

static void add_row(struct cli_table *table, const struct vbs_quantize_row *row,
                    const double *alone)
{
    cli_table_add(table, "%s", row->name);
    cli_table_add(table, "%s", row->kind);
    if (row->rounded && row->seen_low == row->seen_high) {
        cli_table_add(table, "always %.4g", row->seen_low);
    } else if (row->rounded) {
        cli_table_add(table, "%.4g .. %.4g", row->seen_low, row->seen_high);
    } else {
        cli_table_add(table, "%s", "");
    }
    if (row->rounded) {
        cli_table_add(table, "%.4g .. %.4g", row->low, row->high);
        cli_table_add(table, "%.4g", (double)row->value.scale);
        cli_table_add(table, "%d", row->value.zero);
    } else {
        cli_table_add(table, "floats");
        cli_table_add(table, "%s", "");
        cli_table_add(table, "%s", "");
    }
    if (row->n_weights > 0)
        add_decibels(table, row->weights_db);
    else
        cli_table_add(table, "%s", "");
    if (alone && row->n_weights > 0)
        add_decibels(table, *alone);
    else if (alone)
        cli_table_add(table, "%s", "");
    cli_table_add(table, "%s", row->why ? row->why : "");
}

void quantize_print_top1(const struct quantize_scores *s)
{
    if (s->scored)
        printf("top-1       %.2f%% -> %.2f%% (%+.2f) of %" PRId64 " test images\n",
               quantize_accuracy(&s->before), quantize_accuracy(&s->after),
               quantize_accuracy(&s->after) - quantize_accuracy(&s->before), s->after.n_images);
}

static void print_scores(const struct quantize_report *r)
{
    const struct vbs_quantize_difference *d = &r->difference;

    if (isfinite(d->db))
        printf("outputs     %.1f dB, largest difference %.4g, same class %" PRId64 " of %" PRId64
               "\n",
               d->db, d->largest, d->n_same, d->n);
    else
        printf("outputs     equal for %" PRId64 " samples\n", d->n);
    quantize_print_top1(&r->scores);
    if (r->scores.scored)
        printf("loss        %.4f -> %.4f\n", loss(&r->scores.before), loss(&r->scores.after));
}

static void print_sums(const struct quantize_report *r)
{
    int64_t parameters = vbs_network_parameters(r->network);
    char bytes[32], floats[32];

    printf("\nranges      %s of %" PRId64 " samples\n",
           vbs_quantize_method_word(r->options->method), r->n_samples);
    printf("weights     %" PRId64 " in 8 bits, %s; %" PRId64 " parameters in all\n", weights_of(r),
           r->options->per_tensor ? "a scale for each layer" : "a scale for each channel",
           parameters);
    printf("size        %s as 32-bit floats, %s in '",
           vbs_format_bytes(parameters * 4, floats, sizeof floats),
           vbs_format_bytes(r->file_bytes, bytes, sizeof bytes));
    cli_print_name(r->path);
    printf("'\n");
    print_scores(r);
}

enum vbs_status quantize_print_table(struct cli *cli, const struct quantize_report *report)
{
    static const struct cli_column PLAIN[] = {
        {"layer", false}, {"kind", false}, {"seen", false},   {"range", false},
        {"scale", true},  {"zero", true},  {"weights", true}, {"computed in floats", false}};
    static const struct cli_column ALONE[] = {
        {"layer", false},  {"kind", false}, {"seen", false},
        {"range", false},  {"scale", true}, {"zero", true},
        {"weights", true}, {"alone", true}, {"computed in floats", false}};
    struct cli_table table = {.columns = report->alone ? ALONE : PLAIN,
                              .n_columns = (int)(report->alone ? sizeof ALONE / sizeof *ALONE
                                                               : sizeof PLAIN / sizeof *PLAIN),
                              .spare = 1 << 2};

    for (int i = 0; i < report->n_rows; i++)
        add_row(&table, &report->rows[i], report->alone ? &report->alone[i] : NULL);
    VBS_TRY(cli_table_print(cli, &table));
    print_sums(report);
    return VBS_OK;
}

/* ---- JSON and CSV ---- */

/* Gives a number of decibels, or null where nothing is lost. */
static json_t *decibels(double db)
{
    return isfinite(db) ? json_real(db) : json_null();
}

static json_t *row_json(const struct vbs_quantize_row *row, const double *alone, bool *failed)
{
    json_t *made = json_object();
    bool weights = row->n_weights > 0;

    cli_json_put(made, "layer", json_integer(row->layer), failed);
    cli_json_put(made, "name", json_string(row->name), failed);
    cli_json_put(made, "kind", json_string(row->kind), failed);
    cli_json_put(made, "rounded", json_boolean(row->rounded), failed);
    cli_json_put(made, "seen_low", row->rounded ? json_real(row->seen_low) : json_null(), failed);
    cli_json_put(made, "seen_high", row->rounded ? json_real(row->seen_high) : json_null(), failed);
    cli_json_put(made, "low", row->rounded ? json_real(row->low) : json_null(), failed);
    cli_json_put(made, "high", row->rounded ? json_real(row->high) : json_null(), failed);
    cli_json_put(made, "scale", row->rounded ? json_real((double)row->value.scale) : json_null(),
                 failed);
    cli_json_put(made, "zero", row->rounded ? json_integer(row->value.zero) : json_null(), failed);
    cli_json_put(made, "clipped", row->rounded ? json_real(row->clipped) : json_null(), failed);
    cli_json_put(made, "weights", json_integer(row->n_weights), failed);
    cli_json_put(made, "weight_scales", json_integer(row->n_channels), failed);
    cli_json_put(made, "weights_db", weights ? decibels(row->weights_db) : json_null(), failed);
    cli_json_put(made, "alone_db", weights && alone ? decibels(*alone) : json_null(), failed);
    cli_json_put(made, "floats_because", row->why ? json_string(row->why) : json_null(), failed);
    return made;
}

static void put_scores(json_t *root, const struct quantize_report *r, bool *failed)
{
    const struct vbs_quantize_difference *d = &r->difference;
    bool scored = r->scores.scored;

    cli_json_put(root, "compared", json_integer(d->n), failed);
    cli_json_put(root, "outputs_db", decibels(d->db), failed);
    cli_json_put(root, "largest_difference", json_real(d->largest), failed);
    cli_json_put(root, "same_class", json_integer(d->n_same), failed);
    cli_json_put(root, "test_images", scored ? json_integer(r->scores.after.n_images) : json_null(),
                 failed);
    cli_json_put(root, "top1_percent",
                 scored ? json_real(quantize_accuracy(&r->scores.before)) : json_null(), failed);
    cli_json_put(root, "top1_percent_after",
                 scored ? json_real(quantize_accuracy(&r->scores.after)) : json_null(), failed);
    cli_json_put(root, "loss", scored ? json_real(loss(&r->scores.before)) : json_null(), failed);
    cli_json_put(root, "loss_after", scored ? json_real(loss(&r->scores.after)) : json_null(),
                 failed);
}

enum vbs_status quantize_print_json(struct cli *cli, const struct quantize_report *r)
{
    const struct vbs_quantize_options *o = r->options;
    json_t *root = json_object(), *rows = json_array();
    bool failed = false;

    for (int i = 0; i < r->n_rows; i++)
        cli_json_append(rows, row_json(&r->rows[i], r->alone ? &r->alone[i] : NULL, &failed),
                        &failed);
    cli_json_put(root, "format", json_string("vbslab-quantize-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(r->network->name), &failed);
    cli_json_put(root, "output", json_string(r->path), &failed);
    cli_json_put(root, "data", json_string(r->data), &failed);
    cli_json_put(root, "method", json_string(vbs_quantize_method_word(o->method)), &failed);
    cli_json_put(root, "samples", json_integer(r->n_samples), &failed);
    cli_json_put(root, "per_channel", json_boolean(!o->per_tensor), &failed);
    cli_json_put(root, "signed", json_boolean(o->is_signed), &failed);
    cli_json_put(root, "symmetric", json_boolean(o->symmetric), &failed);
    cli_json_put(root, "parameters", json_integer(vbs_network_parameters(r->network)), &failed);
    cli_json_put(root, "weights", json_integer(weights_of(r)), &failed);
    cli_json_put(root, "float_bytes", json_integer(4 * vbs_network_parameters(r->network)),
                 &failed);
    cli_json_put(root, "file_bytes", json_integer(r->file_bytes), &failed);
    put_scores(root, r, &failed);
    cli_json_put(root, "rows", rows, &failed);
    return cli_json_print(cli, root, failed);
}

enum vbs_status quantize_print_csv(struct cli *cli, const struct quantize_report *r)
{
    struct vbs_text text = {0};

    vbs_text_add(&text, "layer,name,kind,rounded,seen_low,seen_high,low,high,scale,zero,clipped,"
                        "weights,weight_scales,weights_db,floats_because,alone_db\n");
    for (int i = 0; i < r->n_rows; i++) {
        const struct vbs_quantize_row *row = &r->rows[i];

        vbs_text_addf(&text, "%d,", row->layer);
        vbs_text_add_csv(&text, row->name);
        vbs_text_addf(&text, ",%s,%d", row->kind, row->rounded);
        vbs_text_add_field(&text, row->rounded ? row->seen_low : NAN);
        vbs_text_add_field(&text, row->rounded ? row->seen_high : NAN);
        vbs_text_add_field(&text, row->rounded ? row->low : NAN);
        vbs_text_add_field(&text, row->rounded ? row->high : NAN);
        vbs_text_add_field(&text, row->rounded ? (double)row->value.scale : NAN);
        vbs_text_add_field(&text, row->rounded ? row->value.zero : NAN);
        vbs_text_add_field(&text, row->rounded ? row->clipped : NAN);
        vbs_text_addf(&text, ",%" PRId64 ",%" PRId64, row->n_weights, row->n_channels);
        vbs_text_add_field(&text, row->n_weights > 0 ? row->weights_db : NAN);
        vbs_text_add(&text, ",");
        vbs_text_add_csv(&text, row->why ? row->why : "");
        vbs_text_add_field(&text, r->alone && row->n_weights > 0 ? r->alone[i] : NAN);
        vbs_text_add(&text, "\n");
    }
    return cli_text_print(cli, &text);
}
