/*
 * The executor runs the kernels that were measured: for every case of an operator, a profile is
 * made of all kernels that the onednn backend offers, and schedules that together have every row of
 * the profile are executed, whole and, where a row was measured in slices, in these slices. The
 * outputs are those of the kernels that made the profile, to the bit.
 */
#include "vbslab/vbslab.h"

#include "base/ctx.h"
#include "base/grow.h"
#include "support/backend_bench.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <stdlib.h>

#define REQUEST  3  /* one sample at batch 1, and two at batch 2 */
#define N_SOURCE 64 /* inputs of a layer at most */

/* This function is from libgomp. It is declared here because only gcc has omp.h. */
extern void omp_set_num_threads(int n);

struct trial {
    struct vbs_ctx ctx;
    const char *name;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_session *session;
    struct vbs_profile *profile;
    const char **algorithms; /* of session's kernels */
    struct vbs_step *steps;
    int64_t n_steps, max_steps;
    char **canonical; /* by tensor: REQUEST samples as the session keeps them */
    float *input;     /* REQUEST samples in plain order */
    float low, high;
    int64_t memory_bytes; /* enough for all tensors and workspaces at once */
    int n_rows;           /* rows that were executed */
};

static int64_t values_of(const struct trial *t, int tensor)
{
    const struct vbs_network *n = t->network;

    return REQUEST * vbs_shape_elements(tensor == 0 ? &n->input : &n->layers[tensor].shape);
}

/* ---- the session ---- */

static bool open_all(struct trial *t)
{
    static const int batches[] = {1, 2};
    const struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                                .batches = batches,
                                                .n_batches = 2,
                                                .threads = 1};

    return vbs_backend_find(&t->ctx, "onednn", &t->backend) == VBS_OK &&
           t->backend->open(&t->ctx, t->network, &options, &t->session) == VBS_OK;
}

static bool make_space(struct trial *t)
{
    int64_t n = values_of(t, 0);

    t->canonical = calloc((size_t)t->session->n_layers + 1, sizeof *t->canonical);
    t->algorithms = calloc((size_t)t->session->n_kernels, sizeof *t->algorithms);
    t->input = malloc((size_t)n * sizeof *t->input);
    if (!t->canonical || !t->algorithms || !t->input)
        return false;
    for (int i = 0; i < t->session->n_kernels; i++) {
        t->algorithms[i] = t->session->kernels[i].algorithm;
        if (t->session->kernels[i].ws_bytes > t->memory_bytes)
            t->memory_bytes = t->session->kernels[i].ws_bytes;
    }
    vbs_tensor_values(0, 0, n, t->input);
    for (int64_t i = 0; (t->low != 0 || t->high != 0) && i < n; i++)
        t->input[i] = t->low + (t->high - t->low) * (t->input[i] + 1) / 2;
    for (int k = 0; k <= t->session->n_layers; k++) {
        t->canonical[k] =
            t->session->ops->alloc(t->session, REQUEST * t->session->layers[k].out_bytes);
        if (!t->canonical[k])
            return false;
        t->memory_bytes += (REQUEST + 2) * t->session->layers[k].out_bytes + 4096;
    }
    return t->session->ops->write(&t->ctx, t->session, 0, REQUEST, t->input, t->canonical[0]) ==
           VBS_OK;
}

/* ---- a round: every layer by one of its kernels at each batch ---- */

/* Gives number `turn` of the kernels of layer at batch, the last one where there are fewer; -1:
 * there are none. *is_new: no earlier round ran it. */
static int find_kernel(const struct trial *t, int layer, int batch, int turn, bool *is_new)
{
    int found = -1, n = 0;

    for (int i = 0; i < t->session->n_kernels && n <= turn; i++)
        if (t->session->kernels[i].layer == layer && t->session->kernels[i].batch == batch) {
            found = i;
            n++;
        }
    *is_new = n == turn + 1;
    return found;
}

static bool run_kernel(struct trial *t, int kernel, int first)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    const void *src[N_SOURCE];
    char *dst = t->canonical[k->layer] + first * layer->out_bytes;
    void *ws = t->session->ops->alloc(t->session, k->ws_bytes + 1);
    double time_us;
    bool done = ws && layer->n_inputs <= N_SOURCE;

    for (int i = 0; done && i < layer->n_inputs; i++)
        src[i] =
            t->canonical[layer->inputs[i]] + first * t->session->layers[layer->inputs[i]].out_bytes;
    if (done && layer->in_place) {
        memcpy(dst, src[0], (size_t)(k->batch * layer->out_bytes));
        src[0] = dst;
    }
    done = done && t->session->ops->run(&t->ctx, t->session, kernel,
                                        &(struct vbs_operands){.src = src, .dst = dst, .ws = ws},
                                        &time_us) == VBS_OK;
    t->session->ops->free(t->session, ws);
    return done;
}

static bool add_steps(struct trial *t, int kernel, bool in_slices)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    int n_slices = in_slices && k->row_slices > 1 ? k->row_slices : 0;

    for (int slice = 1; slice == 1 || slice <= n_slices; slice++) {
        if (vbs_grow(&t->ctx, &t->steps, &t->max_steps, t->n_steps + 1, sizeof *t->steps) != VBS_OK)
            return false;
        t->steps[t->n_steps++] = (struct vbs_step){.op = VBS_STEP_COMPUTE,
                                                   .layer = k->layer,
                                                   .batch = k->batch,
                                                   .algorithm = kernel,
                                                   .slice = n_slices ? slice : 0,
                                                   .n_slices = n_slices};
    }
    return true;
}

/* Compares the outputs of a run with the canonical tensors. */
static bool same_outputs(struct trial *t, float **got)
{
    bool same = true;

    for (int i = 0; i < t->network->n_outputs && same; i++) {
        int layer = t->network->outputs[i].layer;
        int64_t n = values_of(t, layer);
        float *want = malloc((size_t)n * sizeof *want);

        same = want &&
               t->session->ops->read(&t->ctx, t->session, layer, REQUEST, t->canonical[layer],
                                     want) == VBS_OK &&
               memcmp(got[i], want, (size_t)n * sizeof *want) == 0;
        if (!same)
            printf("# %s: output '%s' differs\n", t->name, t->network->layers[layer].name);
        free(want);
    }
    return same;
}

static bool execute(struct trial *t)
{
    const struct vbs_schedule schedule = {.model = t->name,
                                          .planner = "test",
                                          .request = REQUEST,
                                          .memory_bytes = t->memory_bytes,
                                          .n_algorithms = t->session->n_kernels,
                                          .algorithms = t->algorithms,
                                          .n_steps = t->n_steps,
                                          .steps = t->steps};
    const struct vbs_exec_options options = {
        .struct_size = sizeof(struct vbs_exec_options), .threads = 1, .debug_checks = true};
    float **got = calloc((size_t)t->network->n_outputs, sizeof *got);
    struct vbs_exec *exec = NULL;
    struct vbs_exec_report report;
    bool done = got;

    for (int i = 0; done && i < t->network->n_outputs; i++) {
        got[i] = malloc((size_t)values_of(t, t->network->outputs[i].layer) * sizeof **got);
        done = got[i];
    }
    done = done && vbs_exec_new(&t->ctx, t->network, t->backend, t->profile, &schedule, &options,
                                NULL, &exec) == VBS_OK;
    done = done && vbs_exec_run(&t->ctx, exec, t->input, got, &report) == VBS_OK &&
           same_outputs(t, got);
    vbs_exec_free(exec);
    for (int i = 0; got && i < t->network->n_outputs; i++)
        free(got[i]);
    free(got);
    return done;
}

/* Runs a round. *n_new: rows that no earlier round ran; where there are none, nothing is run. */
static bool try_round(struct trial *t, int turn, int *n_new)
{
    bool done = true, has_slices = false;
    int n = t->session->n_layers, *kernels = calloc(2 * (size_t)n, sizeof *kernels);

    *n_new = 0;
    for (int i = 0; i < 2 * n && kernels; i++) {
        bool is_new;

        kernels[i] = find_kernel(t, 1 + i / 2, 1 + i % 2, turn, &is_new);
        done = done && kernels[i] >= 0;
        *n_new += is_new;
        has_slices |= done && t->session->kernels[kernels[i]].row_slices > 1;
    }
    done = done && kernels;
    for (int i = 0; done && *n_new > 0 && i < 2 * n; i++)
        done = run_kernel(t, kernels[i], i % 2);
    for (int in_slices = 0; done && *n_new > 0 && in_slices <= has_slices; in_slices++) {
        t->n_steps = 0;
        for (int i = 0; done && i < 2 * n; i++)
            done = add_steps(t, kernels[i], in_slices);
        done = done && execute(t);
    }
    free(kernels);
    return done;
}

static void close_trial(struct trial *t)
{
    for (int k = 0; t->canonical && k <= t->session->n_layers; k++)
        t->session->ops->free(t->session, t->canonical[k]);
    free(t->canonical);
    free(t->algorithms);
    free(t->input);
    free(t->steps);
    vbs_profile_free(t->profile);
    if (t->session)
        t->session->ops->close(t->session);
    vbs_network_free(t->network);
}

/* Reports the trial and closes t. */
static void check(struct trial *t, enum vbs_status made)
{
    bool done = made == VBS_OK && open_all(t) &&
                (t->profile = profile_of_session(&t->ctx, t->session, NULL)) && make_space(t);
    int n_new = 1;

    for (int turn = 0; done && n_new > 0; turn++) {
        done = try_round(t, turn, &n_new);
        t->n_rows += n_new;
    }
    if (!ok(done && t->n_rows == t->session->n_kernels, "%s: each of %d rows as it was measured",
            t->name, t->n_rows))
        printf("# %s\n", vbs_detail(&t->ctx));
    close_trial(t);
}

int main(int argc, char **argv)
{
    const struct operator_case *c;

    omp_set_num_threads(1); /* a second one would only wait, at the cost of a processor */
    for (int i = 0; (c = operator_case_at(i)); i++) {
        struct trial t = {.name = c->name, .low = c->low, .high = c->high};

        check(&t, operator_case_network(&t.ctx, c, &t.network));
    }
    for (int i = 0; backend_cases[i].name; i++) {
        struct trial t = {.name = backend_cases[i].name};

        check(&t, backend_case_network(&t.ctx, &backend_cases[i], &t.network));
    }
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
