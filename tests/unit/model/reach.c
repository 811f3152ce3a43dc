/*
 * Reaches against what really happens: in every layer of every case of an operator, one row of an
 * input after another is changed, and the rows of the output that change then must be those that
 * the reach allows. For convolutions and means the first and the last row of a reach must count,
 * too.
 */
#include "cases/backend_cases.h"
#include "reference/backend/ops.h"
#include "support/model_help.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>

#define MOST_WORK 2e8 /* values or products of a layer, times the rows of its input */

static struct counts {
    int layers, by_rows, ends, sums;
    int ops[VBS_N_OPS]; /* inputs that are read by rows */
} counts;

static int64_t size_of(const struct vbs_network *network, int tensor)
{
    return vbs_shape_elements(&network->layers[tensor].shape);
}

/* Gives whether a sample of a tensor has row y changed. */
static bool row_differs(const struct vbs_shape *shape, const float *a, const float *b, int y)
{
    int64_t rows = shape->dim[1], inner = vbs_shape_elements(shape) / shape->dim[0] / rows;

    for (int64_t c = 0; c < shape->dim[0]; c++) {
        int64_t from = (c * rows + y) * inner;

        if (memcmp(a + from, b + from, (size_t)inner * sizeof *a) != 0)
            return true;
    }
    return false;
}

/* Makes a copy of a tensor whose row x is other. */
static float *change_row(const struct vbs_shape *shape, const float *values, int x)
{
    int64_t n = vbs_shape_elements(shape), rows = shape->dim[1];
    int64_t inner = n / shape->dim[0] / rows;
    float *changed = malloc((size_t)n * sizeof *changed);

    if (!changed)
        bail_out("out of memory");
    memcpy(changed, values, (size_t)n * sizeof *changed);
    for (int64_t c = 0; c < shape->dim[0]; c++)
        for (int64_t i = 0; i < inner; i++)
            changed[(c * rows + x) * inner + i] += (float)(3 + (c + i + x) % 5);
    return changed;
}

/* Gives the first and the last row that row y reaches, by division of real numbers. */
static double first_row(const struct vbs_reach *reach, int y)
{
    return floor(((double)reach->step * y + (double)reach->low) / reach->unit);
}

static double last_row(const struct vbs_reach *reach, int y)
{
    return floor(((double)reach->step * y + (double)reach->high) / reach->unit);
}

/* Gives whether both ends of a reach must change the output: nothing hides a change there. */
static bool shows_ends(const struct vbs_layer *l)
{
    return (l->op == VBS_OP_CONV || l->op == VBS_OP_POOL_AVG) && l->n_fused == 0 &&
           l->encoding.storage == VBS_FLOAT32;
}

/* Changes row x of one input of a layer, and compares. */
static bool check_row(const struct vbs_network *network, int layer, int input,
                      const struct vbs_reach *reach, float *const *tensors, int x)
{
    const struct vbs_layer *l = &network->layers[layer];
    const float *inputs[64], *plain = tensors[layer];
    float *changed =
        change_row(&network->layers[l->inputs[input]].shape, tensors[l->inputs[input]], x);
    float *output;
    bool right = true;

    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = i == input ? changed : tensors[l->inputs[i]];
    output = reference_layer(network, layer, inputs);
    if (!output)
        bail_out("out of memory");
    for (int y = 0; y < (int)l->shape.dim[1] && right; y++) {
        bool differs = row_differs(&l->shape, plain, output, y);
        bool end = x == first_row(reach, y) || x == last_row(reach, y);

        right = !differs || (x >= first_row(reach, y) && x <= last_row(reach, y));
        if (right && end && shows_ends(l)) {
            counts.ends++;
            right = differs;
        }
        if (!right)
            printf("# layer %d '%s' (%s): row %d of the input %s row %d\n", layer, l->name,
                   vbs_op_word(l->op), x, differs ? "changes" : "does not change", y);
    }
    free(changed);
    free(output);
    return right;
}

static bool check_input(const struct vbs_network *network, int layer, int input,
                        float *const *tensors)
{
    const struct vbs_layer *l = &network->layers[layer];
    struct vbs_reach reach = {1, 1, 1, 1};
    int64_t rows;

    if (!vbs_layer_reach(network, layer, input, &reach))
        return reach.step == 0 && reach.unit == 0 && reach.low == 0 && reach.high == 0;
    rows = network->layers[l->inputs[input]].shape.dim[1];
    if (reach.unit == 0) { /* it accumulates: all rows count in its only one */
        counts.sums++;
        return reach.step == 1 && reach.low == 0 && reach.high == 0 && l->shape.dim[1] == 1 &&
               rows > 1 && (l->op == VBS_OP_POOL_AVG || l->op == VBS_OP_POOL_MAX) &&
               l->attributes.pool.window.kernel[0] == rows;
    }
    counts.by_rows++;
    counts.ops[l->op]++;
    if ((double)(l->macs + size_of(network, layer)) * (double)rows > MOST_WORK)
        return true;
    for (int x = 0; x < rows; x++)
        if (!check_row(network, layer, input, &reach, tensors, x))
            return false;
    return true;
}

static bool check_network(struct vbs_ctx *ctx, struct vbs_network *network)
{
    float **tensors = calloc((size_t)network->n_layers + 1, sizeof *tensors);
    bool right = tensors != NULL;

    (void)ctx;
    for (int k = 0; right && k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];
        const float *inputs[64];

        if (k == 0) {
            tensors[0] = malloc((size_t)size_of(network, 0) * sizeof *tensors[0]);
            if (tensors[0])
                vbs_network_input_values(network, 0, size_of(network, 0), tensors[0]);
        } else {
            for (int i = 0; i < l->n_inputs; i++)
                inputs[i] = tensors[l->inputs[i]];
            tensors[k] = reference_layer(network, k, inputs);
        }
        if (!tensors[k])
            bail_out("out of memory");
        counts.layers += k > 0;
        for (int i = 0; k > 0 && right && i < l->n_inputs; i++)
            right = check_input(network, k, i, tensors);
    }
    for (int k = 0; tensors && k <= network->n_layers; k++)
        free(tensors[k]);
    free(tensors);
    return right;
}

static void check_all(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    const struct operator_case *c;

    for (int i = 0; backend_cases[i].name; i++) {
        if (backend_case_network(&ctx, &backend_cases[i], &network) != VBS_OK)
            bail_out("%s: %s", backend_cases[i].name, vbs_detail(&ctx));
        ok(check_network(&ctx, network), "%s", backend_cases[i].name);
        vbs_network_free(network);
    }
    for (int i = 0; (c = operator_case_at(i)); i++) {
        if (operator_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        ok(check_network(&ctx, network), "%s", c->name);
        vbs_network_free(network);
    }
}

/* Networks of odd heights, whose reaches are computed only. */
static void check_heights(void)
{
    static const struct {
        const char *text;
        int rows;
        struct vbs_reach reach;
    } CASES[] = {
        {"model m\ninput 3x227x227\nconv a out=8 kernel=11 stride=4\n", 55, {4, 1, 0, 10}},
        {"model m\ninput 3x299x299\nconv a out=8 kernel=3 stride=2\n", 149, {2, 1, 0, 2}},
        {"model m\ninput 3x1x9\nconv a out=8 kernel=3 pad=1\n", 1, {1, 1, -1, 1}},
        {"model m\ninput 3x13x13\nmaxpool a kernel=3 stride=2 round=up\n", 6, {2, 1, 0, 2}},
        {"model m\ninput 3x13x13\navgpool a kernel=global\n", 1, {1, 0, 0, 0}},
        {"model m\ninput 3x13x13\nmaxpool a kernel=13 stride=1\n", 1, {1, 0, 0, 0}},
        {"model m\ninput 3x1x13\navgpool a kernel=global\n", 1, {1, 1, 0, 0}},
    };

    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct vbs_network *network;
        struct vbs_reach reach;

        network = parse_network(CASES[i].text);
        ok(vbs_layer_reach(network, 1, 0, &reach) &&
               vbs_shape_rows(&network->layers[1].shape) == CASES[i].rows &&
               memcmp(&reach, &CASES[i].reach, sizeof reach) == 0,
           "%d rows", CASES[i].rows);
        vbs_network_free(network);
    }
}

int main(void)
{
    check_all();
    check_heights();
    printf("# %d layers, %d inputs by rows, %d ends of reaches seen\n", counts.layers,
           counts.by_rows, counts.ends);
    for (int op = 0; op < VBS_N_OPS; op++)
        if (counts.ops[op] > 0)
            printf("# %s: %d\n", vbs_op_word((enum vbs_op)op), counts.ops[op]);
    ok(counts.by_rows > counts.layers / 4 && counts.ends > 300 && counts.sums > 3,
       "enough is read by rows, and %d layers accumulate", counts.sums);
    return done_testing();
}
