#include "cli/common/common.h"
#include "cli/print/print.h"

#include "base/fail.h"

#include <stdio.h>

/* The abbreviations in the sources of the planners. */
static const struct {
    const char *word, *paper;
} PAPERS[] = {
    {"VBS", "Choudhury et al., \"Variable batch size across layers for efficient prediction on "
            "CNNs\""},
    {"COMP", "Vooturi et al., \"Efficient inferencing of compressed deep neural networks\", 2017"},
    {"MMCNN", "Li et al., \"A novel memory-scheduling strategy for large convolutional neural "
              "network on memory-limited devices\""},
    {"MCUNetV2", "Lin et al., \"MCUNetV2: memory-efficient patch-based inference for tiny deep "
                 "learning\", NeurIPS 2021"},
    {"msf-CNN", "Huang and Baccelli, \"msf-CNN: patch-based multi-stage fusion with convolutional "
                "neural networks for TinyML\", NeurIPS 2025"},
    {"vDNN", "Rhu et al., \"vDNN: Virtualized deep neural networks for scalable, memory-efficient "
             "neural network design\", MICRO 2016"},
};

#define N_PAPERS (sizeof PAPERS / sizeof PAPERS[0])

static json_t *planner_json(const struct vbs_planner *planner, bool *failed)
{
    bool transfers = vbs_planner_transfers(planner), estimates = vbs_planner_estimates(planner);
    json_t *object = json_object();

    cli_json_put(object, "name", json_string(vbs_planner_name(planner)), failed);
    cli_json_put(object, "summary", json_string(vbs_planner_summary(planner)), failed);
    cli_json_put(object, "source", json_string(vbs_planner_source(planner)), failed);
    cli_json_put(object, "cost", json_string(vbs_planner_cost(planner)), failed);
    cli_json_put(object, "baseline", json_boolean(vbs_planner_is_baseline(planner)), failed);
    cli_json_put(object, "weights",
                 json_string(transfers   ? "included"
                             : estimates ? "excluded"
                                         : "either"),
                 failed);
    cli_json_put(object, "estimates", json_boolean(estimates), failed);
    return object;
}

static enum vbs_status print_json(struct cli *cli)
{
    const struct vbs_planner *planner;
    bool failed = false;
    json_t *root = json_object(), *planners = json_array(), *papers = json_object();

    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        cli_json_append(planners, planner_json(planner, &failed), &failed);
    for (size_t i = 0; i < N_PAPERS; i++)
        cli_json_put(papers, PAPERS[i].word, json_string(PAPERS[i].paper), &failed);
    cli_json_put(root, "format", json_string("vbslab-planners-1"), &failed);
    cli_json_put(root, "planners", planners, &failed);
    cli_json_put(root, "papers", papers, &failed);
    return cli_json_print(cli, root, failed);
}

/* Prints the planners of a kind. */
static void print_kind(const char *title, bool (*is_of_kind)(const struct vbs_planner *planner))
{
    const struct vbs_planner *planner;
    int n = 0;

    printf("%s", title);
    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        if (is_of_kind(planner))
            printf("%s%s", n++ > 0 ? ", " : "", vbs_planner_name(planner));
    printf("\n");
}

static enum vbs_status print_table(struct cli *cli)
{
    static const struct cli_column COLUMNS[] = {
        {"name", false}, {"what it does", false}, {"source", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 3};
    const struct vbs_planner *planner;

    for (int i = 0; (planner = vbs_planner_at(i)); i++) {
        cli_table_add(&table, "%s", vbs_planner_name(planner));
        cli_table_add(&table, "%s", vbs_planner_summary(planner));
        cli_table_add(&table, "%s", vbs_planner_source(planner));
    }
    VBS_TRY(cli_table_print(cli, &table));
    printf("\n");
    cli_flow_begin(cli);
    print_kind("Only with --weights included: ", vbs_planner_transfers);
    print_kind("Estimates without schedules, --weights excluded: ", vbs_planner_estimates);
    printf("From outside: exec:PROGRAM, so:FILE (docs/outside.md)\n");
    cli_flow_end(cli);
    printf("\nTime to plan grows with\n");
    for (int i = 0; (planner = vbs_planner_at(i)); i++)
        cli_print_entry(cli, vbs_planner_name(planner), vbs_planner_cost(planner));
    printf("\nSources\n");
    for (size_t i = 0; i < N_PAPERS; i++)
        cli_print_entry(cli, PAPERS[i].word, PAPERS[i].paper);
    return VBS_OK;
}

static int run_planners(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    return cli_run_list(cli, values, n_arguments, arguments, print_json, print_table);
}

static const struct cli_option OPTIONS[] = {
    {"json", NULL, "print JSON"},
    {0},
};

const struct cli_command cli_planners = {
    .name = "planners",
    .summary = "the planners: what each does, its source and its cost",
    .usage = "[--json]",
    .options = OPTIONS,
    .run = run_planners,
};
