/*
 * Which weights of a schedule stay in memory, when the others are copied in, and which clock binds:
 * what the replay tells of planners that transfer weights.
 */
#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The weights of one layer. */
struct use {
    int64_t resident_bytes, copied_bytes;
    int64_t n_loads; /* without resident ones */
    int n_slices;    /* of its loads; the most */
    double copy_us, compute_us;
    double wait_us;        /* for which computing stands still before the layer's steps */
    double first_start_us; /* of the first load; below 0: there is none */
    double first_read_us;  /* start of the layer's first compute step; below 0: none yet */
    int during;            /* the layer that computes when the first load begins; 0: none does */
};

/* What the replay tells. */
struct account {
    struct use *uses; /* [0..n_layers] */
    int computing;    /* the layer of the latest compute step */
    double until_us;  /* end of that step */
    double wait_us;
    double compute_us, copy_us, time_us;
    int64_t peak_step, peak_bytes;
    int peak_layer;
    int64_t peak_weight_bytes;
    int64_t n_spans, capacity;
    struct compute_span {
        double start_us, end_us;
        int layer;
    } * spans; /* of the compute steps */
};

static enum vbs_status note_compute(struct vbs_ctx *ctx, struct account *account,
                                    const struct vbs_replay_event *event)
{
    struct use *use = &account->uses[event->step->layer];
    double start_us = event->record->start_us, wait_us = start_us - account->until_us;

    VBS_TRY(vbs_grow(ctx, &account->spans, &account->capacity, account->n_spans + 1,
                     sizeof *account->spans));
    account->spans[account->n_spans++] =
        (struct compute_span){start_us, event->record->end_us, event->step->layer};
    if (use->first_read_us < 0)
        use->first_read_us = start_us;
    use->compute_us += event->record->end_us - start_us;
    use->wait_us += wait_us;
    account->wait_us += wait_us;
    account->until_us = event->record->end_us;
    if (event->record->memory_bytes > account->peak_bytes) {
        account->peak_bytes = event->record->memory_bytes;
        account->peak_layer = event->step->layer;
        account->peak_weight_bytes = event->record->weight_bytes;
    }
    return VBS_OK;
}

static enum vbs_status note(struct vbs_ctx *ctx, void *self, const struct vbs_replay_event *event)
{
    struct account *account = self;
    const struct vbs_step *step = event->step;
    struct use *use = &account->uses[step->layer];

    if (step->op == VBS_STEP_COMPUTE)
        return note_compute(ctx, account, event);
    if (step->op != VBS_STEP_LOAD)
        return VBS_OK;
    if (step->resident) {
        use->resident_bytes += step->bytes;
        return VBS_OK;
    }
    if (use->first_start_us < 0)
        use->first_start_us = event->record->start_us;
    use->n_loads++;
    use->copied_bytes += step->bytes;
    use->copy_us += event->record->end_us - event->record->start_us;
    if (step->n_slices > use->n_slices)
        use->n_slices = step->n_slices;
    return VBS_OK;
}

/* Finds what computes while the first load of each layer begins. */
static void find_during(struct account *account, int n_layers)
{
    for (int k = 1; k <= n_layers; k++) {
        struct use *use = &account->uses[k];

        for (int64_t s = 0; use->first_start_us >= 0 && s < account->n_spans; s++)
            if (account->spans[s].start_us <= use->first_start_us &&
                use->first_start_us < account->spans[s].end_us) {
                use->during = account->spans[s].layer;
                break;
            }
    }
}

static void account_clear(struct account *account)
{
    free(account->uses);
    free(account->spans);
}

/* Replays the schedule. The caller clears *account, after a failure too. */
static enum vbs_status make_account(const struct cli_explanation *about, struct account *account)
{
    int n = about->problem->profile->n_layers;
    struct vbs_replay *replay = NULL;

    *account = (struct account){.uses = calloc((size_t)n + 1, sizeof *account->uses)};
    if (!account->uses)
        return vbs_no_memory(&about->cli->ctx);
    for (int k = 0; k <= n; k++)
        account->uses[k].first_start_us = account->uses[k].first_read_us = -1;
    VBS_TRY(vbs_replay_observe(&about->cli->ctx, about->problem->profile, about->schedule, -1, note,
                               account, &replay));
    account->compute_us = replay->compute_us;
    account->copy_us = replay->copy_us;
    account->time_us = replay->time_us;
    vbs_replay_free(replay);
    find_during(account, n);
    return VBS_OK;
}

static void add_layer(const struct cli_explanation *about, const struct account *account, int k,
                      struct cli_table *table)
{
    const struct use *use = &account->uses[k];
    int64_t bytes = use->resident_bytes + use->copied_bytes;
    char text[32];

    cli_table_add(table, "%d", k);
    cli_table_add(table, "%.16s", about->problem->profile->layers[k].name);
    cli_table_add(table, "%s", vbs_format_bytes(bytes, text, sizeof text));
    if (use->n_loads == 0)
        cli_table_add(table, "resident");
    else if (use->n_slices > 1)
        cli_table_add(table, "%lld in %d slices", (long long)use->n_loads, use->n_slices);
    else
        cli_table_add(table, "%lld", (long long)use->n_loads);
    cli_table_add(table, "%s",
                  use->n_loads ? cli_format_time(use->copy_us, text, sizeof text) : "-");
    if (use->n_loads == 0)
        cli_table_add(table, "-");
    else if (use->during == k)
        cli_table_add(table, "itself");
    else if (use->during)
        cli_table_add(table, "%d %.16s", use->during,
                      about->problem->profile->layers[use->during].name);
    else
        cli_table_add(table, "nothing");
    cli_table_add(table, "%s",
                  use->wait_us > 0 ? cli_format_time(use->wait_us, text, sizeof text) : "-");
}

/* Prints which clock binds: in how much of the time computing stands still. */
static void print_clocks(const struct cli_explanation *about, const struct account *account)
{
    char time[32], compute[32], copy[32], wait[32], bytes[24], weights[24];
    double after_us = account->time_us - account->until_us, stands = account->wait_us + after_us;

    printf("\ncomputing takes %s, copying %s, both together %s\n",
           cli_format_time(account->compute_us, compute, sizeof compute),
           cli_format_time(account->copy_us, copy, sizeof copy),
           cli_format_time(account->time_us, time, sizeof time));
    if (stands <= 1e-6 * account->time_us)
        printf("computing binds: it never waits for a copy\n");
    else
        printf("computing waits for copies for %s, %.0f%% of the time%s\n",
               cli_format_time(stands, wait, sizeof wait), 100 * stands / account->time_us,
               account->copy_us > 0.999 * account->time_us ? ": copying binds throughout" : "");
    printf("memory binds at layer %d, with %s of which %s are weights\n", account->peak_layer,
           vbs_format_bytes(account->peak_bytes, bytes, sizeof bytes),
           vbs_format_bytes(account->peak_weight_bytes, weights, sizeof weights));
    (void)about;
}

static enum vbs_status print_account(const struct cli_explanation *about,
                                     const struct account *account)
{
    static const struct cli_column COLUMNS[] = {
        {"layer", true},   {"name", false},          {"weights", true},        {"loads", false},
        {"copying", true}, {"begins during", false}, {"computing waits", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 7};

    for (int k = 1; k <= about->problem->profile->n_layers; k++)
        if (account->uses[k].resident_bytes + account->uses[k].copied_bytes > 0)
            add_layer(about, account, k, &table);
    VBS_TRY(cli_table_print(about->cli, &table));
    print_clocks(about, account);
    return VBS_OK;
}

static json_t *layer_json(const struct use *use, int layer)
{
    return json_pack("{s:i, s:I, s:I, s:I, s:i, s:f, s:f, s:f, s:i}", "layer", layer,
                     "resident_bytes", (json_int_t)use->resident_bytes, "copied_bytes",
                     (json_int_t)use->copied_bytes, "loads", (json_int_t)use->n_loads, "slices",
                     use->n_slices, "copy_us", use->copy_us, "compute_us", use->compute_us,
                     "wait_us", use->wait_us, "begins_during", use->during);
}

enum vbs_status cli_put_weights(const struct cli_explanation *about, json_t *json, bool *failed)
{
    json_t *layers = json_array();
    struct account account;
    enum vbs_status status = make_account(about, &account);

    for (int k = 1; status == VBS_OK && k <= about->problem->profile->n_layers; k++)
        cli_json_append(layers, layer_json(&account.uses[k], k), failed);
    cli_json_put(json, "layers", layers, failed);
    cli_json_put(json, "clocks",
                 json_pack("{s:f, s:f, s:f}", "compute_us", account.compute_us, "copy_us",
                           account.copy_us, "wait_us", account.wait_us),
                 failed);
    account_clear(&account);
    return status;
}

enum vbs_status cli_print_weights(const struct cli_explanation *about)
{
    struct account account;
    enum vbs_status status = make_account(about, &account);

    if (status == VBS_OK)
        status = print_account(about, &account);
    account_clear(&account);
    return status;
}
