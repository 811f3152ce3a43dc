/*
 * The JSON of a profile (docs/report.md). It is written by hand: long lists of numbers take one
 * line each, and numbers have as many digits as they need. Strings are jansson's.
 */
#include "report/html/html.h"

#include "base/fail.h"
#include "base/json.h"
#include "report/common/common.h"
#include "report/text/text.h"
#include "vbslab/backend.h"
#include "vbslab/units.h"

#include <math.h>

void vbs_page_add_string(struct vbs_text *text, const char *string)
{
    struct vbs_text clean = {0};
    json_t *value;

    vbs_text_add(&clean, "");
    vbs_form_add_utf8(&clean, string ? string : "");
    value = clean.failed ? NULL : json_string(clean.data);
    vbs_text_add_json(text, value, JSON_ENCODE_ANY);
    json_decref(value);
    vbs_text_clear(&clean);
}

static void add_key(struct vbs_text *text, const char *key)
{
    vbs_text_addf(text, "\"%s\":", key);
}

static void add_text(struct vbs_text *text, const char *key, const char *value)
{
    add_key(text, key);
    vbs_page_add_string(text, value);
    vbs_text_add(text, ",");
}

static void add_integer(struct vbs_text *text, const char *key, int64_t value)
{
    vbs_text_addf(text, "\"%s\":%lld,", key, (long long)value);
}

/* Adds a number, which JSON has only where it is finite. */
static void add_number(struct vbs_text *text, double value)
{
    if (isfinite(value))
        vbs_text_add_double(text, value);
    else
        vbs_text_add(text, "null");
}

static void add_real(struct vbs_text *text, const char *key, double value)
{
    add_key(text, key);
    add_number(text, value);
    vbs_text_add(text, ",");
}

/* ---- The profile and its problem ---- */

/* Returns how far the times of layers are uncertain, in percent: half of the 95% intervals of the
 * fastest rows of each layer and batch, together, of their times together. NAN: no row has an
 * interval. */
static double interval_percent(const struct vbs_profile *profile)
{
    double half_us = 0, time_us = 0;

    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < profile->n_batches; b++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n_rows);
            const struct vbs_profile_row *fastest = rows;

            for (int i = 1; i < n_rows; i++)
                if (rows[i].time_us < fastest->time_us)
                    fastest = &rows[i];
            if (fastest->high_us > 0) {
                half_us += (fastest->high_us - fastest->low_us) / 2;
                time_us += fastest->time_us;
            }
        }
    return time_us > 0 ? 100 * half_us / time_us : (double)NAN;
}

static void add_provenance(struct vbs_text *text, const struct vbs_compare *compare)
{
    const struct vbs_provenance *from = &compare->provenance;

    add_integer(text, "profile", compare->profile_id);
    add_text(text, "hash", compare->hash);
#define ADD(member) add_text(text, #member, from->member);
    VBS_PROVENANCE_TEXTS(ADD)
#undef ADD
    add_integer(text, "threads", from->threads);
    vbs_text_addf(text, "\"modelled\":%s,", vbs_provenance_modelled(from) ? "true" : "false");
}

static void add_problem(struct vbs_text *text, const struct vbs_problem *problem)
{
    add_integer(text, "request", problem->request);
    add_text(text, "io", vbs_io_word(problem->io));
    add_text(text, "weights", vbs_weights_word(problem->weights));
    add_integer(text, "weight_bytes", vbs_profile_weight_bytes(problem->profile));
    add_real(text, "latency_bound_us", problem->latency_us);
    if (problem->weights == VBS_WEIGHTS_EXCLUDED)
        return;
    vbs_text_add(text, "\"copy\":{");
    add_text(text, "source", problem->copy.source);
    add_real(text, "latency_us", problem->copy.latency_us);
    add_key(text, "bytes_per_us");
    add_number(text, problem->copy.bytes_per_us);
    vbs_text_add(text, "},");
}

void vbs_page_add_judging_link(struct vbs_text *text, const struct vbs_profile *profile,
                               const struct vbs_link *planned)
{
    const struct vbs_copy *copy =
        planned->source ? vbs_profile_copy(profile, planned->source) : NULL;
    const struct vbs_link *link = copy ? &copy->link : planned;

    vbs_text_add(text, "\"replay_copy\":[");
    add_number(text, link->latency_us);
    vbs_text_add(text, ",");
    add_number(text, link->bytes_per_us);
    vbs_text_add(text, "],\n");
    if (!link->beside)
        return;
    vbs_text_add(text, "\"replay_beside\":[");
    for (int k = 0; k <= profile->n_layers; k++) {
        vbs_text_add(text, k > 0 ? "," : "");
        add_number(text, link->beside[k]);
    }
    vbs_text_add(text, "],\n");
}

static void add_layers(struct vbs_text *text, const struct vbs_profile *profile)
{
    add_integer(text, "input_bytes", profile->layers[0].out_bytes);
    vbs_text_add(text, "\"layers\":[");
    for (int k = 1; k <= profile->n_layers; k++) {
        const struct vbs_profile_layer *layer = &profile->layers[k];

        vbs_text_add(text, k > 1 ? ",\n{" : "\n{");
        add_text(text, "name", layer->name);
        add_text(text, "kind", layer->kind);
        vbs_text_add(text, "\"inputs\":[");
        for (int i = 0; i < layer->n_inputs; i++)
            vbs_text_addf(text, i ? ",%d" : "%d", layer->inputs[i]);
        vbs_text_add(text, "],");
        add_integer(text, "out_bytes", layer->out_bytes);
        add_integer(text, "weight_bytes", layer->weight_bytes);
        add_integer(text, "rows", layer->rows);
        vbs_text_addf(text, "\"in_place\":%s}", layer->in_place ? "true" : "false");
    }
    vbs_text_add(text, "],\n\"algorithms\":[");
    for (int a = 0; a < profile->n_algorithms; a++) {
        vbs_text_add(text, a ? "," : "");
        vbs_page_add_string(text, profile->algorithms[a]);
    }
    vbs_text_add(text, "],\n");
}

/* ---- Plans ---- */

void vbs_page_add_plan(struct vbs_text *text, const struct vbs_page_plan *plan)
{
    const double reals[] = {plan->time_us,    plan->compute_us, plan->copy_us,
                            plan->latency_us, plan->bound_us,   plan->gap_percent};

    vbs_text_addf(text, "[%lld,%lld,%lld", (long long)plan->memory_bytes,
                  (long long)plan->first_step, (long long)plan->n_steps);
    for (size_t i = 0; plan->n_steps && i < sizeof reals / sizeof reals[0]; i++) {
        vbs_text_add(text, ",");
        add_number(text, reals[i]);
    }
    if (plan->n_steps)
        vbs_text_addf(text, ",%lld,%lld,%lld,%lld,%lld", (long long)plan->peak_bytes,
                      (long long)plan->peak_step, (long long)plan->reserved_bytes,
                      (long long)plan->copied_bytes, (long long)plan->resident_bytes);
    vbs_text_add(text, "]");
}

static const char *word_of(enum vbs_page_budgets budgets)
{
    static const char *const WORDS[] = {"exact", "some", "compared"};

    return WORDS[budgets];
}

static void add_plans(struct vbs_text *text, const struct vbs_page_profile *profile)
{
    vbs_text_add(
        text,
        "\"plan_columns\":[\"memory_bytes\",\"first_step\",\"n_steps\",\"time_us\","
        "\"compute_us\",\"copy_us\",\"latency_us\",\"bound_us\",\"gap_percent\",\"peak_bytes\","
        "\"peak_step\",\"reserved_bytes\",\"copied_bytes\",\"resident_bytes\"],\n"
        "\"planners\":[");
    for (int p = 0; p < profile->n_plans; p++) {
        const struct vbs_page_plans *plans = &profile->plans[p];

        vbs_text_add(text, p ? ",\n{" : "\n{");
        add_text(text, "name", vbs_planner_name(plans->planner));
        add_text(text, "summary", vbs_planner_summary(plans->planner));
        add_text(text, "source", vbs_planner_source(plans->planner));
        add_text(text, "budgets", word_of(plans->budgets));
        add_integer(text, "n_breakpoints", plans->n_breakpoints);
        add_text(text, "refused", plans->refused);
        vbs_text_add(text, "\"plans\":[");
        for (int64_t i = 0; i < plans->n; i++) {
            vbs_text_add(text, i ? ",\n" : "\n");
            vbs_page_add_plan(text, &plans->list[i]);
        }
        vbs_text_add(text, "]}");
    }
    vbs_text_add(text, "],\n");
}

void vbs_page_add_kinds(struct vbs_text *text, const struct vbs_page_steps *steps)
{
    vbs_text_add(text, "\"kind_columns\":[\"op\",\"layer\",\"batch\",\"algorithm\",\"slice\","
                       "\"n_slices\",\"bytes\",\"format\",\"resident\",\"waits\",\"row\","
                       "\"rows\",\"window\",\"time_us\",\"ws_bytes\",\"added_bytes\","
                       "\"outside_bytes\"],\n\"kinds\":[");
    for (int64_t k = 0; k < steps->n_kinds; k++) {
        const struct vbs_page_kind *kind = &steps->kinds[k];

        vbs_text_add(text, k ? ",\n[" : "\n[");
        for (int i = 0; i < VBS_PAGE_KEYS; i++)
            vbs_text_addf(text, "%lld,", (long long)kind->key[i]);
        add_number(text, kind->time_us);
        vbs_text_addf(text, ",%lld,%lld,%lld]", (long long)kind->ws_bytes,
                      (long long)kind->added_bytes, (long long)kind->outside_bytes);
    }
    vbs_text_addf(text, "],\n\"n_steps\":%lld,\"steps\":", (long long)steps->n);
}

enum vbs_status vbs_page_add_profile(struct vbs_ctx *ctx, struct vbs_text *text,
                                     const struct vbs_page_profile *profile)
{
    double bound_us;
    json_t *compare;

    VBS_TRY(vbs_bound_us(ctx, profile->problem, VBS_MAX_BYTES, &bound_us));
    vbs_text_add(text, "{");
    add_provenance(text, profile->compare);
    vbs_text_add(text, "\n");
    add_problem(text, profile->problem);
    add_real(text, "bound_us", bound_us);
    add_real(text, "interval_percent", interval_percent(profile->problem->profile));
    if (profile->problem->weights == VBS_WEIGHTS_INCLUDED)
        vbs_page_add_judging_link(text, profile->problem->profile, &profile->problem->copy);
    add_layers(text, profile->problem->profile);
    add_plans(text, profile);
    vbs_page_add_kinds(text, &profile->steps);
    VBS_TRY(vbs_page_pack(ctx, text, profile->steps.list, profile->steps.n));
    vbs_text_add(text, ",\n\"compare\":");
    compare = vbs_text_compare(profile->compare);
    vbs_text_add_json(text, compare, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(compare);
    vbs_text_add(text, "}");
    return text->failed ? vbs_no_memory(ctx) : VBS_OK;
}
