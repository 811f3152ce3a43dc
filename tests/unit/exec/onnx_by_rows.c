/*
 * Every network of tests/data/onnx that the onednn backend can compute has a profile of stripes
 * that can be run, whether it has kernels on rows or none: the profile says that it is one, also
 * when it was written as a file and read again. The outputs are those without stripes.
 */
#include "support/made_profile.h"
#include "support/session_profile.h"
#include "support/tap.h"
#include "support/true_plan.h"

#include "vbslab/vbslab.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER      "tests/data/onnx"
#define TOLERANCE   1e-4 /* of the largest value of an output */
#define MAX_OUTPUTS 8
#define MOST_LAYERS 60                  /* planners take longer for more */
#define MOST_BYTES  ((int64_t)64 << 20) /* of weights: more take long to be made */

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    float *outputs[2][MAX_OUTPUTS]; /* without stripes, and with them */
};

static struct {
    int n_run, n_without, n_refused, n_large;
} counts;

/* Makes the profile that a CSV file of this one is read as. */
static struct vbs_profile *read_again(struct vbs_ctx *ctx, struct vbs_profile *profile)
{
    struct vbs_profile *again = NULL;
    char *text = NULL;

    if (vbs_profile_csv(ctx, profile, &text) != VBS_OK ||
        vbs_profile_parse_csv(ctx, "again", text, strlen(text), &again) != VBS_OK)
        bail_out("%s", vbs_detail(ctx));
    free(text);
    vbs_profile_free(profile);
    return again;
}

/* Plans one sample in the least memory, with some pages between windows. */
static struct vbs_schedule *plan(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_problem problem = {.profile = profile, .request = 1};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(ctx, "dp-vbs+", &planner) != VBS_OK ||
        vbs_solver_new(ctx, planner, &problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(ctx, solver, vbs_solver_least_bytes(solver) + 16384, &schedule) != VBS_OK)
        bail_out("no plan: %s", vbs_detail(ctx));
    vbs_solver_free(solver);
    return schedule;
}

/* Runs a sample by a plan for the network's profile, with stripes or without; false: it failed. */
static bool run(struct subject *t, bool stripes, struct vbs_profile **profile)
{
    struct vbs_exec_options options = {.struct_size = sizeof options, .threads = 1};
    struct vbs_exec_placement placement;
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    struct vbs_schedule *schedule;
    enum vbs_status status;

    if (session_profile(&t->ctx, t->backend, t->network, stripes, profile) != VBS_OK)
        return false;
    *profile = read_again(&t->ctx, *profile);
    schedule = plan(&t->ctx, *profile);
    options.memory_bytes = schedule->memory_bytes;
    status = vbs_exec_new(&t->ctx, t->network, t->backend, *profile, schedule, &options, &placement,
                          &exec);
    if (status == VBS_OK)
        status = vbs_exec_run(&t->ctx, exec, NULL, t->outputs[stripes], &report);
    vbs_exec_free(exec);
    if (status == VBS_OK && !is_true_plan(*profile, schedule))
        status = VBS_INVALID;
    vbs_schedule_free(schedule);
    return status == VBS_OK;
}

/* Returns the largest difference of the outputs of both runs, as a fraction of the largest value of
 * the output. */
static double difference(const struct subject *t)
{
    double worst = 0;

    for (int i = 0; i < t->network->n_outputs; i++) {
        int64_t n = vbs_shape_elements(&t->network->outputs[i].shape);
        double largest = 1e-30, most = 0;

        for (int64_t j = 0; j < n; j++) {
            double a = t->outputs[0][i][j], b = t->outputs[1][i][j];

            if (isfinite(a))
                largest = fmax(largest, fabs(a));
            if (a != b && !(isnan(a) && isnan(b)))
                most = fmax(most, fabs(a - b));
        }
        worst = fmax(worst, most / largest);
    }
    return worst;
}

/* Runs the network, which is freed. */
static void check(struct subject *t, const char *name)
{
    struct vbs_profile *plain = NULL, *striped = NULL;
    bool done = t->network->n_outputs <= MAX_OUTPUTS;

    for (int i = 0; i < t->network->n_outputs && done; i++)
        for (int side = 0; side < 2; side++)
            t->outputs[side][i] =
                calloc((size_t)vbs_shape_elements(&t->network->outputs[i].shape), sizeof(float));
    done = done && run(t, false, &plain) && run(t, true, &striped);
    if (!ok(done && difference(t) <= TOLERANCE && vbs_profile_has_stripes(striped) &&
                strcmp(striped->provenance.layout, VBS_LAYOUT_ROWS) == 0 &&
                !vbs_profile_has_stripes(plain) && plain->provenance.layout[0] == '\0',
            "%s: runs by a profile of stripes", name))
        printf("# %s; off by %g\n", done ? "" : vbs_detail(&t->ctx), done ? difference(t) : 0);
    counts.n_run++;
    counts.n_without += striped && !has_stripe_rows(striped);
    vbs_profile_free(plain);
    vbs_profile_free(striped);
    for (int i = 0; i < MAX_OUTPUTS; i++)
        for (int side = 0; side < 2; side++) {
            free(t->outputs[side][i]);
            t->outputs[side][i] = NULL;
        }
    vbs_network_free(t->network);
}

static int is_network(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".onnx") == 0;
}

static bool is_large(const struct vbs_network *network)
{
    int64_t parameters = 0;

    for (int k = 1; k <= network->n_layers; k++)
        parameters += network->layers[k].parameters;
    return network->n_layers > MOST_LAYERS || 4 * parameters > MOST_BYTES;
}

int main(void)
{
    struct subject t = {0};
    struct vbs_backend_info info;
    struct dirent **entries;
    int n = scandir(FOLDER, &entries, is_network, alphasort);

    if (n < 0 || vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK)
        bail_out("no networks, or no backend");
    t.backend->probe(&info);
    if (!info.usable) {
        printf("1..0 # SKIP %s\n", info.why);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        char path[sizeof FOLDER + sizeof entries[i]->d_name];

        snprintf(path, sizeof path, "%s/%s", FOLDER, entries[i]->d_name);
        if (vbs_network_load(&t.ctx, path, NULL, &t.network) != VBS_OK) {
            printf("# %s\n", vbs_detail(&t.ctx));
            counts.n_refused++;
        } else if (is_large(t.network)) {
            counts.n_large++;
            vbs_network_free(t.network);
        } else {
            check(&t, entries[i]->d_name);
        }
        free(entries[i]);
    }
    free(entries);
    ok(counts.n_run > 40 && counts.n_without > 2,
       "%d networks were run, %d of them without kernels on rows; %d are not read, %d are large",
       counts.n_run, counts.n_without, counts.n_refused, counts.n_large);
    return done_testing();
}
