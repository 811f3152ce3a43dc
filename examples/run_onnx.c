/*
 * Runs the network of an ONNX file on the samples of a .npy file with at most 20 MiB of
 * activations, and writes the first output to another .npy file. It first measures the layers.
 *
 * This program is compiled by
 *     cc -o run_onnx run_onnx.c $(pkg-config --cflags --libs vbslab)
 */
#include <stdio.h>
#include <stdlib.h>
#include <vbslab/vbslab.h>

static enum vbs_status run(struct vbs_ctx *ctx, const struct vbs_network *network,
                           const struct vbs_npy *in, const char *path)
{
    struct vbs_simple_options options = {
        .struct_size = sizeof options, .request = in->dim[0], .memory_bytes = 20 << 20};
    const struct vbs_shape *shape = &network->outputs[0].shape;
    int64_t dim[VBS_MAX_DIMS + 1] = {in->dim[0]}, size = vbs_shape_elements(shape);
    struct vbs_profile *profile = NULL;
    struct vbs_exec *exec = NULL;
    struct vbs_exec_report report;
    float **out; /* of each output of the network; null: not wanted */
    enum vbs_status status = VBS_NO_MEMORY;

    if (in->n_values != in->dim[0] * vbs_shape_elements(&network->input))
        return VBS_USAGE;
    out = calloc((size_t)network->n_outputs, sizeof *out);
    for (int i = 0; i < shape->n_dims; i++)
        dim[i + 1] = shape->dim[i];
    if (out && (out[0] = calloc((size_t)(dim[0] * size), sizeof *out[0])) &&
        !(status = vbs_simple_measure(ctx, network, &options, &profile)) &&
        !(status = vbs_simple_prepare(ctx, network, profile, &options, NULL, &exec)) &&
        !(status = vbs_exec_run(ctx, exec, in->values, out, &report)))
        status = vbs_npy_write(ctx, path, shape->n_dims + 1, dim, out[0]);
    vbs_exec_free(exec);
    vbs_profile_free(profile);
    free(out ? out[0] : NULL);
    free(out);
    return status;
}

int main(int argc, char **argv)
{
    const char *usage = "usage: run_onnx MODEL.onnx SAMPLES.npy OUTPUT.npy";
    struct vbs_ctx *ctx = vbs_ctx_new();
    struct vbs_network *network = NULL;
    struct vbs_npy in = {0};
    enum vbs_status status = VBS_USAGE;

    if (argc == 4 && !(status = vbs_network_load(ctx, argv[1], NULL, &network)) &&
        !(status = vbs_npy_read(ctx, argv[2], 1 << 28, &in)))
        status = run(ctx, network, &in, argv[3]);
    if (status != VBS_OK)
        fprintf(stderr, "run_onnx: %s\n", vbs_ctx_status(ctx) ? vbs_detail(ctx) : usage);
    vbs_npy_clear(&in);
    vbs_network_free(network);
    vbs_ctx_free(ctx);
    return vbs_status_exit_code(status);
}
