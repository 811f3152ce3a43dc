/*
 * Numbers that are not finite by rows: the kernels of our own on some rows of a sample make of them
 * what the definition makes of whole samples, so that plans by rows have finite outputs where other
 * plans have them.
 */
#include "cases/backend_cases.h"
#include "support/stripes_bench.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>

#define TOLERANCE 1e-5

/* Layers that loops of our own compute by rows, also where they compute whole samples. */
static const struct backend_case TEXTS[] = {
    {"the largest of all positions", "input 20x9x4\nmaxpool g kernel=global\n"},
    {"a mean of all positions, with a ReLU", "input 20x9x4\navgpool g kernel=global\nrelu r\n"},
    {"relu", "input 20x9x4\nrelu r from=input\n"},
};

static const struct operator_case CASES[] = {
    {.name = "max",
     .input = {3, {20, 9, 4}},
     .nodes = {{VBS_OP_MAX, "n", .n_inputs = 1, .inputs = (const int[]){0}, .operand = {1, {1}}}}},
    {.name = "min of two",
     .input = {3, {20, 9, 4}},
     .nodes = {{VBS_OP_SHUFFLE, "s", .n_inputs = 1, .inputs = (const int[]){0},
                .attributes = {.shuffle = {.groups = 2}}},
               {VBS_OP_MIN, "n", .n_inputs = 2, .inputs = (const int[]){0, 1}}}},
    {.name = "clip",
     .input = {3, {20, 9, 4}},
     .nodes = {{VBS_OP_CLIP, "n", .n_inputs = 1, .inputs = (const int[]){0},
                .attributes = {.clip = {.low = -0.5, .high = 0.5}}}}},
};

/* Makes a sample of each tensor, some of whose values are not finite. */
static bool fill(struct stripes_bench *t)
{
    static const float SPECIAL[] = {NAN, INFINITY, -INFINITY, NAN};

    t->tensors = stripes_tensors(t->session);
    for (int k = 0; t->tensors && k <= t->session->n_layers; k++) {
        int64_t n = stripes_elements(t->network, k), places[] = {n / 3, n / 7, 0, n - 1};
        float *values = malloc((size_t)n * sizeof *values);
        bool written;

        vbs_tensor_values(k, 0, n, values);
        for (int i = 0; i < 4; i++)
            values[places[(i + k) % 4]] = SPECIAL[i];
        written =
            t->session->ops->write(&t->ctx, t->session, k, 1, values, t->tensors[k]) == VBS_OK;
        free(values);
        if (!written)
            return false;
    }
    return t->tensors;
}

/* Checks a network, which is freed. */
static void check(const char *name, struct vbs_network *network)
{
    struct stripes_bench t = {.network = network, .threads = 1};
    struct stripes_result r;

    if (vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK ||
        !(t.session = stripes_open(&t, true, NULL, 0)) || !fill(&t) || !stripes_compute(&t))
        bail_out("%s: %s", name, vbs_detail(&t.ctx));
    r = stripes_check(&t, TOLERANCE);
    ok(r.n_bad == 0 && r.n_kernels > 0, "%s: %d of %d kernels on rows are wrong", name, r.n_bad,
       r.n_kernels);
    stripes_free_tensors(t.session, t.outputs);
    stripes_free_tensors(t.session, t.tensors);
    t.session->ops->close(t.session);
    vbs_network_free(t.network);
}

int main(void)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        if (backend_case_network(&ctx, &TEXTS[i], &network) != VBS_OK)
            bail_out("%s: %s", TEXTS[i].name, vbs_detail(&ctx));
        check(TEXTS[i].name, network);
    }
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        if (operator_case_network(&ctx, &CASES[i], &network) != VBS_OK)
            bail_out("%s: %s", CASES[i].name, vbs_detail(&ctx));
        check(CASES[i].name, network);
    }
    return done_testing();
}
