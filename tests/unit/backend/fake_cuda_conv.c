/*
 * The convolutions of the fake of cuDNN are right: they are compared with a loop that goes over
 * the inputs instead of the outputs.
 */
#include "fake/cuda_help.h"

#include <stdlib.h>

struct conv_case {
    const char *name;
    int n_spatial, n, c, k, groups;
    int in[3], size[3], pad[3], stride[3], dilation[3];
};

static const struct conv_case conv_cases[] = {
    {"plain", 2, 2, 3, 4, 1, {1, 5, 6}, {1, 3, 3}, {0}, {1, 1, 1}, {1, 1, 1}},
    {"padded", 2, 1, 2, 2, 1, {1, 4, 5}, {1, 3, 2}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"stride", 2, 1, 2, 3, 1, {1, 7, 6}, {1, 3, 3}, {0, 1, 2}, {1, 2, 3}, {1, 1, 1}},
    {"dilation", 2, 1, 2, 2, 1, {1, 7, 8}, {1, 2, 3}, {0, 2, 1}, {1, 1, 2}, {1, 3, 2}},
    {"groups", 2, 2, 4, 6, 2, {1, 4, 4}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"depthwise", 2, 1, 3, 3, 3, {1, 4, 4}, {1, 2, 2}, {0}, {1, 2, 2}, {1, 1, 1}},
    {"volume", 3, 2, 2, 3, 1, {4, 5, 3}, {3, 2, 3}, {1, 0, 1}, {1, 2, 1}, {1, 1, 1}},
    {"odd volume", 3, 1, 4, 2, 2, {5, 4, 6}, {2, 2, 3}, {2, 1, 1}, {2, 1, 3}, {2, 1, 1}},
};

static int made(const struct conv_case *t, int d)
{
    return (t->in[d] + 2 * t->pad[d] - (t->size[d] - 1) * t->dilation[d] - 1) / t->stride[d] + 1;
}

static int product(const int *v)
{
    return v[0] * v[1] * v[2];
}

/* Gives the number of the output place that has input place i at window place q; -1: none. */
static int sees(const struct conv_case *t, int i, int q)
{
    int place[3] = {i / (t->in[1] * t->in[2]), i / t->in[2] % t->in[1], i % t->in[2]};
    int at[3] = {q / (t->size[1] * t->size[2]), q / t->size[2] % t->size[1], q % t->size[2]};
    int number = 0;

    for (int d = 0; d < 3; d++) {
        int x = place[d] + t->pad[d] - at[d] * t->dilation[d];

        if (x < 0 || x % t->stride[d] != 0 || x / t->stride[d] >= made(t, d))
            return -1;
        number = number * made(t, d) + x / t->stride[d];
    }
    return number;
}

/* Computes y of x, or with back x of y; results begin at 0. */
static void convolve(const struct conv_case *t, float *x, const float *w, float *y, bool back)
{
    int area = product(t->in), window = product(t->size), n_c = t->c / t->groups;
    int made_area = made(t, 0) * made(t, 1) * made(t, 2), n_k = t->k / t->groups;

    for (int i = 0; i < t->n * t->c * area; i++) {
        int n = i / (t->c * area), c = i / area % t->c;

        for (int j = 0; j < n_k * window; j++) {
            int k = c / n_c * n_k + j / window, place = sees(t, i % area, j % window);
            float weight = w[(k * n_c + c % n_c) * window + j % window];

            if (place >= 0 && back)
                x[i] += weight * y[(n * t->k + k) * made_area + place];
            else if (place >= 0)
                y[(n * t->k + k) * made_area + place] += weight * x[i];
        }
    }
}

/* Makes small whole numbers, so that sums are exact. */
static float *numbers(int n, unsigned seed)
{
    float *values = malloc((size_t)n * sizeof *values);

    for (int i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (float)(seed >> 16 & 7) - 3;
    }
    return values;
}

static int n_different(const float *device, const float *want, int n)
{
    float *got = malloc((size_t)n * sizeof *got);
    int different = 0;

    cudaMemcpy(got, device, (size_t)n * sizeof *got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        different += !(fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i]));
    free(got);
    return different;
}

struct conv {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t convolution;
    int n_x, n_w, n_y;
};

static struct conv conv(const struct conv_case *t)
{
    int skip_d = 3 - t->n_spatial, n_dims = t->n_spatial + 2;
    struct conv v = {.handle = new_handle(NULL), .n_x = t->n * t->c, .n_y = t->n * t->k};
    int x[5] = {t->n, t->c}, w[5] = {t->k, t->c / t->groups}, y[5] = {0};

    for (int d = 0; d < t->n_spatial; d++) {
        x[d + 2] = t->in[skip_d + d];
        w[d + 2] = t->size[skip_d + d];
    }
    v.x = tensor(n_dims, x);
    cudnnCreateFilterDescriptor(&v.w);
    cudnnSetFilterNdDescriptor(v.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, n_dims, w);
    cudnnCreateConvolutionDescriptor(&v.convolution);
    cudnnSetConvolutionNdDescriptor(v.convolution, t->n_spatial, t->pad + skip_d,
                                    t->stride + skip_d, t->dilation + skip_d,
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(v.convolution, t->groups);
    cudnnGetConvolutionNdForwardOutputDim(v.convolution, v.x, v.w, n_dims, y);
    v.y = tensor(n_dims, y);
    v.n_x *= product(t->in);
    v.n_w = w[0] * w[1] * product(t->size);
    v.n_y *= made(t, 0) * made(t, 1) * made(t, 2);
    return v;
}

/* Runs all algorithms; gives how many are right. */
static int n_right_forward(const struct conv_case *t, const struct conv *v, float *x, float *w)
{
    float *y = calloc((size_t)v->n_y, sizeof *y), *dx = on_device(x, v->n_x);
    float *dw = on_device(w, v->n_w), *dy = on_device(NULL, v->n_y);
    int n_right = 0, count = 0;

    convolve(t, x, w, y, false);
    cudnnGetConvolutionForwardAlgorithmMaxCount(v->handle, &count);
    for (int i = 0; i < count; i++) {
        cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)i;
        size_t n_bytes = 0;
        void *scratch = NULL;

        if (cudnnGetConvolutionForwardWorkspaceSize(v->handle, v->x, v->w, v->convolution, v->y,
                                                    algorithm, &n_bytes) != CUDNN_STATUS_SUCCESS)
            continue;
        cudaMalloc(&scratch, n_bytes);
        cudaMemset(dy, 0xFF, (size_t)v->n_y * sizeof *dy);
        cudnnConvolutionForward(v->handle, &one, v->x, dx, v->w, dw, v->convolution, algorithm,
                                scratch, n_bytes, &none, v->y, dy);
        n_right += n_different(dy, y, v->n_y) == 0;
    }
    free(y);
    return n_right;
}

static int n_right_back(const struct conv_case *t, const struct conv *v, float *y, float *w)
{
    float *x = calloc((size_t)v->n_x, sizeof *x), *dx = on_device(NULL, v->n_x);
    float *dw = on_device(w, v->n_w), *dy = on_device(y, v->n_y);
    int n_right = 0;

    convolve(t, x, w, y, true);
    for (int i = 0; i < 2; i++) {
        cudnnConvolutionBwdDataAlgo_t algorithm = (cudnnConvolutionBwdDataAlgo_t)i;
        size_t n_bytes = 0;
        void *scratch = NULL;

        cudnnGetConvolutionBackwardDataWorkspaceSize(v->handle, v->w, v->y, v->convolution, v->x,
                                                     algorithm, &n_bytes);
        cudaMalloc(&scratch, n_bytes);
        cudaMemset(dx, 0xFF, (size_t)v->n_x * sizeof *dx);
        cudnnConvolutionBackwardData(v->handle, &one, v->w, dw, v->y, dy, v->convolution, algorithm,
                                     scratch, n_bytes, &none, v->x, dx);
        n_right += n_different(dx, x, v->n_x) == 0;
    }
    free(x);
    return n_right;
}

/* Each direction has its number of algorithms. */
static void convolutions(void)
{
    static const int n_algorithms[] = {7, 6, 3, 2, 6, 3, 2, 2};

    for (size_t i = 0; i < sizeof conv_cases / sizeof conv_cases[0]; i++) {
        const struct conv_case *t = &conv_cases[i];
        struct conv v;
        float *x, *w, *y;

        fake_cuda_reset();
        v = conv(t);
        x = numbers(v.n_x, 1);
        w = numbers(v.n_w, 2);
        y = numbers(v.n_y, 3);
        ok(n_right_forward(t, &v, x, w) == n_algorithms[i], "%s: forward", t->name);
        ok(n_right_back(t, &v, y, w) == 2, "%s: back", t->name);
        ok(fake_cuda_violations() == 0, "%s: nothing wrong", t->name);
        free(x);
        free(w);
        free(y);
    }
}

/* The result is y = activation(x * 2 + bias) for x = -1, 1 with bias -1. */
static cudnnStatus_t fused(cudnnActivationMode_t mode, cudnnConvolutionFwdAlgo_t algorithm,
                           float *first, float *second)
{
    static const struct conv_case t = {"",        2,         1,   1,         1,        1,
                                       {1, 1, 2}, {1, 1, 1}, {0}, {1, 1, 1}, {1, 1, 1}};
    struct conv v;
    float *x, *w, *y, *bias;
    cudnnActivationDescriptor_t activation = NULL;
    cudnnStatus_t status;

    fake_cuda_reset();
    v = conv(&t);
    x = on_device((float[]){-1, 1}, 2);
    w = on_device((float[]){2}, 1);
    bias = on_device((float[]){-1}, 1);
    y = on_device(NULL, 2);
    cudnnCreateActivationDescriptor(&activation);
    cudnnSetActivationDescriptor(activation, mode, CUDNN_PROPAGATE_NAN, 0);
    status = cudnnConvolutionBiasActivationForward(v.handle, &one, v.x, x, v.w, w, v.convolution,
                                                   algorithm, on_device(NULL, 64), 256, &none, v.y,
                                                   y, TENSOR(1, 1, 1, 1), bias, activation, v.y, y);
    *first = from_device(y, 0);
    *second = from_device(y, 1);
    return status;
}

static void fused_convolutions(void)
{
    float first, second;

    fused(CUDNN_ACTIVATION_RELU, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &first, &second);
    ok(first == 0 && second == 1, "convolution, bias and relu");
    fused(CUDNN_ACTIVATION_IDENTITY, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &first,
          &second);
    ok(first == -3 && second == 1, "convolution and bias");
    is_int(
        fused(CUDNN_ACTIVATION_IDENTITY, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &first, &second),
        CUDNN_STATUS_NOT_SUPPORTED, "not with another algorithm");
    is_int(fake_cuda_violations(), 0, "which is an answer");
}

int main(void)
{
    convolutions();
    fused_convolutions();
    fake_cuda_reset();
    return done_testing();
}
