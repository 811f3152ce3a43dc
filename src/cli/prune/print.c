#include "cli/prune/prune.h"

#include "base/fail.h"
#include "base/text.h"
#include "cli/print/print.h"

#include <inttypes.h>

static int64_t macs_of(const struct vbs_network *network)
{
    int64_t macs = 0;

    for (int k = 1; k <= network->n_layers; k++)
        macs += network->layers[k].macs;
    return macs;
}

/* Gives the channels of a group that stay. */
static int64_t kept(const struct prune_report *r, int g)
{
    return r->keep ? r->keep[g] : r->groups->groups[g].n_channels;
}

/* Gives the width that counts for a group's time, of which it had `before`: a width inside a block
 * costs what the end of the block costs, but not more than before. */
static int64_t costs_as(const struct prune_report *r, int64_t width, int64_t before)
{
    int64_t end = (width + r->block - 1) / r->block * r->block;

    return end < before ? end : before;
}

static int n_layers_of(const struct vbs_prune_group *group)
{
    int n = 0;

    for (int m = 0; m < group->n_members; m++)
        n += m == 0 || group->members[m].layer != group->members[m - 1].layer;
    return n;
}

/* ---- tables ---- */

static enum vbs_status print_groups(struct cli *cli, const struct prune_report *r)
{
    static const struct cli_column COLUMNS[] = {
        {"group", false},     {"channels", true}, {"filters", true},   {"layers", true},
        {"parameters", true}, {"MACs", true},     {"why fixed", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof *COLUMNS};

    for (int g = 0; g < r->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &r->groups->groups[g];

        cli_table_add(&table, "%s", group->name);
        cli_table_add(&table, "%" PRId64, group->n_channels);
        cli_table_add(&table, "%" PRId64, group->unit);
        cli_table_add(&table, "%d", n_layers_of(group));
        cli_table_add(&table, "%" PRId64, group->parameters);
        cli_table_add(&table, "%" PRId64, group->macs);
        cli_table_add(&table, "%s", group->fixed ? group->fixed : "");
    }
    VBS_TRY(cli_table_print(cli, &table));
    cli_flow_begin(cli);
    printf(
        "\nchannels: sets of filters, of which any can be removed as long as one stays; filters: "
        "of the first layer in each of them; layers: that lose filters together; parameters, "
        "MACs: what one channel less saves, also in the layers that read it\n");
    cli_flow_end(cli);
    return VBS_OK;
}

static void add_pruned(const struct prune_report *r, int g, struct cli_table *table)
{
    const struct vbs_prune_group *group = &r->groups->groups[g];
    int64_t before = group->n_channels * group->unit, after = kept(r, g) * group->unit;
    int64_t cost = costs_as(r, after, before);

    cli_table_add(table, "%s", group->name);
    cli_table_add(table, "%d", n_layers_of(group));
    cli_table_add(table, "%" PRId64 " -> %" PRId64, before, after);
    cli_table_add(table, "%.1f%%",
                  100.0 * (double)(group->n_channels - kept(r, g)) / (double)group->n_channels);
    if (cost == after)
        cli_table_add(table, "%s", "");
    else if (cost == before)
        cli_table_add(table, "%" PRId64 ": nothing won", cost);
    else
        cli_table_add(table, "%" PRId64, cost);
}

static void print_sums(const char *what, int64_t before, int64_t after)
{
    printf("%-10s  %" PRId64 " -> %" PRId64 " (%.1f%% removed)\n", what, before, after,
           before > 0 ? 100.0 * (double)(before - after) / (double)before : 0.0);
}

/* Counts the groups that are pruned, and those of them whose width lies inside a block. */
static int count_pruned(const struct prune_report *r, int *n_inside)
{
    int n = 0;

    *n_inside = 0;
    for (int g = 0; g < r->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &r->groups->groups[g];
        int64_t width = kept(r, g) * group->unit;

        if (kept(r, g) == group->n_channels)
            continue;
        n++;
        *n_inside += costs_as(r, width, group->n_channels * group->unit) != width;
    }
    return n;
}

static enum vbs_status print_pruned(struct cli *cli, const struct prune_report *r)
{
    static const struct cli_column COLUMNS[] = {{"group", false},
                                                {"layers", true},
                                                {"filters", true},
                                                {"removed", true},
                                                {"as fast as", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = sizeof COLUMNS / sizeof *COLUMNS};
    int n_inside, n = count_pruned(r, &n_inside);

    for (int g = 0; g < r->groups->n_groups; g++)
        if (kept(r, g) < r->groups->groups[g].n_channels)
            add_pruned(r, g, &table);
    if (n > 0) {
        VBS_TRY(cli_table_print(cli, &table));
        printf("\n");
    }
    print_sums("parameters", vbs_network_parameters(r->network), vbs_network_parameters(r->pruned));
    print_sums("MACs", macs_of(r->network), macs_of(r->pruned));
    cli_flow_begin(cli);
    if (n == 0)
        printf("nothing is removed: every group keeps all of its channels\n");
    if (n_inside > 0)
        printf("%d of %d groups have a width inside a block of %" PRId64
               ": kernels compute so many "
               "output channels at once, so that these layers are about as fast as at the end of "
               "the block, and only the layers that read them gain; --round %" PRId64 " keeps the "
               "channels up to there\n",
               n_inside, n, r->block, r->block);
    printf("'");
    cli_print_name(r->path);
    printf("' is written\n");
    cli_flow_end(cli);
    return VBS_OK;
}

enum vbs_status prune_print_table(struct cli *cli, const struct prune_report *report)
{
    return report->pruned ? print_pruned(cli, report) : print_groups(cli, report);
}

/* ---- JSON and CSV ---- */

static json_t *group_json(const struct prune_report *r, int g, bool *failed)
{
    const struct vbs_prune_group *group = &r->groups->groups[g];
    json_t *made = json_object(), *layers = json_array();

    for (int m = 0; m < group->n_members; m++)
        if (m == 0 || group->members[m].layer != group->members[m - 1].layer)
            cli_json_append(layers, json_string(r->network->layers[group->members[m].layer].name),
                            failed);
    cli_json_put(made, "group", json_string(group->name), failed);
    cli_json_put(made, "channels", json_integer(group->n_channels), failed);
    cli_json_put(made, "kept", json_integer(kept(r, g)), failed);
    cli_json_put(made, "unit", json_integer(group->unit), failed);
    cli_json_put(made, "layers", layers, failed);
    cli_json_put(made, "parameters", json_integer(group->parameters), failed);
    cli_json_put(made, "macs", json_integer(group->macs), failed);
    cli_json_put(
        made, "as_fast_as",
        json_integer(costs_as(r, kept(r, g) * group->unit, group->n_channels * group->unit)),
        failed);
    cli_json_put(made, "fixed", group->fixed ? json_string(group->fixed) : json_null(), failed);
    return made;
}

enum vbs_status prune_print_json(struct cli *cli, const struct prune_report *r)
{
    json_t *root = json_object(), *groups = json_array();
    bool failed = false;

    for (int g = 0; g < r->groups->n_groups; g++)
        cli_json_append(groups, group_json(r, g, &failed), &failed);
    cli_json_put(root, "format", json_string("vbslab-prune-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(r->network->name), &failed);
    cli_json_put(root, "output", r->path ? json_string(r->path) : json_null(), &failed);
    cli_json_put(root, "ranking",
                 r->pruned ? json_string(vbs_prune_ranking_word(r->ranking)) : json_null(),
                 &failed);
    cli_json_put(root, "parameters", json_integer(vbs_network_parameters(r->network)), &failed);
    cli_json_put(root, "macs", json_integer(macs_of(r->network)), &failed);
    cli_json_put(root, "parameters_after",
                 r->pruned ? json_integer(vbs_network_parameters(r->pruned)) : json_null(),
                 &failed);
    cli_json_put(root, "macs_after", r->pruned ? json_integer(macs_of(r->pruned)) : json_null(),
                 &failed);
    cli_json_put(root, "groups", groups, &failed);
    return cli_json_print(cli, root, failed);
}

enum vbs_status prune_print_csv(struct cli *cli, const struct prune_report *r)
{
    struct vbs_text text = {0};

    vbs_text_add(&text, "group,channels,kept,unit,layers,parameters,macs,as_fast_as,fixed\n");
    for (int g = 0; g < r->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &r->groups->groups[g];

        vbs_text_add_csv(&text, group->name);
        vbs_text_addf(
            &text, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",",
            group->n_channels, kept(r, g), group->unit, n_layers_of(group), group->parameters,
            group->macs, costs_as(r, kept(r, g) * group->unit, group->n_channels * group->unit));
        vbs_text_add_csv(&text, group->fixed ? group->fixed : "");
        vbs_text_add(&text, "\n");
    }
    return cli_text_print(cli, &text);
}
