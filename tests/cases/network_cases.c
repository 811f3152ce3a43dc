#include "cases/network_cases.h"

#include "cases/backend_cases.h"
#include "support/bail_out.h"
#include "support/vbz_help.h"

#include "base/ctx.h"

#include <stdlib.h>

void each_model(const char *const *models, size_t n_models, network_check *check, void *self)
{
    for (size_t i = 0; i < n_models; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_network *network = NULL;

        if (vbs_network_load(&ctx, models[i], NULL, &network) != VBS_OK)
            bail_out("%s: %s", models[i], vbs_detail(&ctx));
        check(models[i], network, self);
        vbs_network_free(network);
    }
}

void each_backend_case(network_check *check, void *self)
{
    for (const struct backend_case *c = backend_cases; c->name; c++) {
        struct vbs_ctx ctx = {0};
        struct vbs_network *network = NULL;

        if (backend_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        check(c->name, network, self);
        vbs_network_free(network);
    }
}

void each_operator_case(network_check *check, void *self)
{
    const struct operator_case *c;

    for (int i = 0; (c = operator_case_at(i)); i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_network *network = NULL;

        if (operator_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        check(c->name, network, self);
        vbs_network_free(network);
    }
}

void one_with_coded_weights(network_check *check, void *self)
{
    static const struct vbz_recipe RECIPE = {
        .density = 0.5, .bits = 2, .options = {VBS_CODING_JOINT, 4, 16, 64}, .any_form = true};
    struct vbs_network *network = vbz_network("tests/data/onnx/external.onnx", &RECIPE);

    if (!network)
        bail_out("no network with coded weights");
    check("coded weights", network, self);
    vbs_network_free(network);
}

float *parameter_values(const struct vbs_network *network, int layer, int fused, int what)
{
    enum vbs_parameter parameter = (enum vbs_parameter)what;
    int64_t n = vbs_parameter_count(network, layer, fused, parameter);
    float *values = malloc((size_t)n * sizeof *values + 1);

    if (values &&
        vbs_parameter_values(NULL, network, layer, fused, parameter, 0, n, values) != VBS_OK) {
        free(values);
        return NULL;
    }
    return values;
}
