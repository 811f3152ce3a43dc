/*
 * The operations of the fake of cuDNN beside convolutions are right: they are compared with numbers
 * that were computed by hand.
 */
#include "fake/cuda_help.h"

static bool results(const float *device, const float *want, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        float got = from_device(device, i);

        if (!(fabsf(got - want[i]) <= 1e-6f)) {
            printf("# value %d: got %g, want %g\n", i, (double)got, (double)want[i]);
            good = false;
        }
    }
    return good && fake_cuda_violations() == 0;
}

#define RESULTS(device, ...)                                                                       \
    results(device, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* The input is [1, 1, 2, 3] = 1 ... 6, with windows 2 x 2 of stride 2, padded by 1: outputs are 2 x
 * 2. */
static const float *pooled(cudnnPoolingMode_t mode)
{
    cudnnPoolingDescriptor_t pooling = NULL;
    cudnnTensorDescriptor_t x;
    float *y;
    int dims[4] = {0};

    fake_cuda_reset();
    cudnnCreatePoolingDescriptor(&pooling);
    cudnnSetPoolingNdDescriptor(pooling, mode, CUDNN_PROPAGATE_NAN, 2, (int[]){2, 2}, (int[]){1, 1},
                                (int[]){2, 2});
    x = TENSOR(1, 1, 2, 3);
    cudnnGetPoolingNdForwardOutputDim(pooling, x, 4, dims);
    y = on_device(NULL, 4);
    cudnnPoolingForward(new_handle(NULL), pooling, &one, x,
                        on_device((float[]){1, 2, 3, 4, 5, 6}, 6), &none, tensor(4, dims), y);
    return y;
}

static void pools(void)
{
    cudnnPoolingDescriptor_t pooling = NULL;
    float *y;

    ok(RESULTS(pooled(CUDNN_POOLING_MAX), 1, 3, 4, 6), "greatest");
    ok(RESULTS(pooled(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING), 1, 2.5f, 4, 5.5f),
       "mean without padding");
    ok(RESULTS(pooled(CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING), 0.25f, 1.25f, 1, 2.75f),
       "mean with padding");
    fake_cuda_reset();
    cudnnCreatePoolingDescriptor(&pooling);
    cudnnSetPoolingNdDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 3,
                                (int[]){2, 1, 2}, (int[]){0, 0, 0}, (int[]){1, 1, 1});
    y = on_device(NULL, 2);
    cudnnPoolingForward(new_handle(NULL), pooling, &one, TENSOR(1, 1, 2, 2, 2),
                        on_device((float[]){8, 1, 2, 3, 4, 5, 6, 7}, 8), &none,
                        TENSOR(1, 1, 1, 2, 1), y);
    ok(RESULTS(y, 8, 7), "greatest of a volume");
}

/* The input has three channels of one value: 1, 2, 3. */
static void lrn_and_softmax(void)
{
    cudnnLRNDescriptor_t lrn = NULL;
    cudnnTensorDescriptor_t t, two;
    cudnnHandle_t handle;
    float *x, *y;
    float e1 = expf(1), e2 = expf(2), sum3 = 1 + e1 + e2, small = 1 / (1 + e1);

    fake_cuda_reset();
    t = TENSOR(1, 3, 1, 1);
    handle = new_handle(NULL);
    x = on_device((float[]){1, 2, 3}, 3);
    y = on_device(NULL, 3);
    cudnnCreateLRNDescriptor(&lrn);
    cudnnSetLRNDescriptor(lrn, 2, 4, 1, 1); /* x / (1 + 2 * (its own square and the next one's)) */
    cudnnLRNCrossChannelForward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, t, x, &none, t, y);
    ok(RESULTS(y, 1 / 11.0f, 2 / 27.0f, 3 / 19.0f), "LRN, window ahead");
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, t, x,
                        &none, t, y);
    ok(RESULTS(y, 1 / sum3, e1 / sum3, e2 / sum3), "softmax");
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE, &one, t, x, &none,
                        t, x);
    ok(RESULTS(x, -logf(sum3), 1 - logf(sum3), 2 - logf(sum3)), "log of it, in place");
    two = TENSOR(1, 2, 2, 1);
    x = on_device((float[]){1, 5, 2, 6}, 4);
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, two, x,
                        &none, two, x);
    ok(RESULTS(x, small, small, 1 - small, 1 - small), "softmax over channels at each place");
}

/* A is [1, 2, 2, 1] of 1 ... 4, and B has two channels, 10 and 20. */
static void op_tensors(void)
{
    static const struct {
        cudnnOpTensorOp_t op;
        float want[4];
    } cases[] = {
        {CUDNN_OP_TENSOR_ADD, {12, 14, 26, 28}},
        {CUDNN_OP_TENSOR_MUL, {20, 40, 120, 160}},
        {CUDNN_OP_TENSOR_MIN, {2, 4, 6, 8}},
        {CUDNN_OP_TENSOR_MAX, {10, 10, 20, 20}},
        {CUDNN_OP_TENSOR_SQRT, {1.4142136f, 2, 2.4494898f, 2.8284271f}},
        {CUDNN_OP_TENSOR_NOT, {-1, -3, -5, -7}},
    };
    const float two = 2;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnOpTensorDescriptor_t op = NULL;
        cudnnTensorDescriptor_t t;
        float *a;

        fake_cuda_reset();
        t = TENSOR(1, 2, 2, 1);
        a = on_device((float[]){1, 2, 3, 4}, 4);
        cudnnCreateOpTensorDescriptor(&op);
        cudnnSetOpTensorDescriptor(op, cases[i].op, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN);
        cudnnOpTensor(new_handle(NULL), op, &two, t, a, &one, TENSOR(1, 2, 1, 1),
                      on_device((float[]){10, 20}, 2), &none, t, a);
        ok(results(a, cases[i].want, 4), "OpTensor %d, in place and broadcast", (int)cases[i].op);
    }
}

static void activations(void)
{
    static const struct {
        cudnnActivationMode_t mode;
        float want[3]; /* of -1, 0.5 and 3; the coefficient is 2 */
    } cases[] = {
        {CUDNN_ACTIVATION_SIGMOID, {0.26894142f, 0.62245933f, 0.95257413f}},
        {CUDNN_ACTIVATION_RELU, {0, 0.5f, 3}},
        {CUDNN_ACTIVATION_TANH, {-0.76159416f, 0.46211716f, 0.99505475f}},
        {CUDNN_ACTIVATION_CLIPPED_RELU, {0, 0.5f, 2}},
        {CUDNN_ACTIVATION_ELU, {-1.2642411f, 0.5f, 3}},
        {CUDNN_ACTIVATION_IDENTITY, {-1, 0.5f, 3}},
        {CUDNN_ACTIVATION_SWISH, {-0.11920292f, 0.36552929f, 2.9925821f}}, /* beta 2 */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnActivationDescriptor_t activation = NULL;
        cudnnTensorDescriptor_t t;
        float *x;

        fake_cuda_reset();
        t = TENSOR(1, 3, 1, 1);
        x = on_device((float[]){-1, 0.5f, 3}, 3);
        cudnnCreateActivationDescriptor(&activation);
        cudnnSetActivationDescriptor(activation, cases[i].mode, CUDNN_PROPAGATE_NAN, 2);
        cudnnSetActivationDescriptorSwishBeta(activation, 2);
        cudnnActivationForward(new_handle(NULL), activation, &one, t, x, &none, t, x);
        ok(results(x, cases[i].want, 3), "activation %d", (int)cases[i].mode);
    }
}

static void reductions(void)
{
    static const struct {
        cudnnReduceTensorOp_t op;
        float want[2]; /* of 3, -4 and of 1, 2 */
    } cases[] = {
        {CUDNN_REDUCE_TENSOR_ADD, {-1, 3}},          {CUDNN_REDUCE_TENSOR_MUL, {-12, 2}},
        {CUDNN_REDUCE_TENSOR_MIN, {-4, 1}},          {CUDNN_REDUCE_TENSOR_MAX, {3, 2}},
        {CUDNN_REDUCE_TENSOR_AVG, {-0.5f, 1.5f}},    {CUDNN_REDUCE_TENSOR_NORM1, {7, 3}},
        {CUDNN_REDUCE_TENSOR_NORM2, {5, 2.236068f}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnReduceTensorDescriptor_t reduction = NULL;
        cudnnTensorDescriptor_t a, c;
        cudnnHandle_t handle;
        float *y;
        size_t n_bytes = 0;

        fake_cuda_reset();
        handle = new_handle(NULL);
        a = TENSOR(1, 2, 2, 1);
        c = TENSOR(1, 2, 1, 1);
        y = on_device(NULL, 2);
        cudnnCreateReduceTensorDescriptor(&reduction);
        cudnnSetReduceTensorDescriptor(reduction, cases[i].op, CUDNN_DATA_FLOAT,
                                       CUDNN_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES,
                                       CUDNN_32BIT_INDICES);
        cudnnGetReductionWorkspaceSize(handle, reduction, a, c, &n_bytes);
        cudnnReduceTensor(handle, reduction, NULL, 0, on_device(NULL, 64), n_bytes, &one, a,
                          on_device((float[]){3, -4, 1, 2}, 4), &none, c, y);
        ok(results(y, cases[i].want, 2), "reduction %d", (int)cases[i].op);
    }
}

static void moves_and_norm(void)
{
    cudnnTensorDescriptor_t columns = NULL, t, c;
    cudnnHandle_t handle;
    float *x, *y, two = 2;

    fake_cuda_reset();
    handle = new_handle(NULL);
    t = TENSOR(1, 1, 2, 2);
    cudnnCreateTensorDescriptor(&columns);
    cudnnSetTensorNdDescriptor(columns, CUDNN_DATA_FLOAT, 4, (int[]){1, 1, 2, 2},
                               (int[]){8, 8, 1, 3});
    x = on_device((float[]){1, 2, 3, 4}, 4);
    y = on_device((float[]){9, 9, 9, 9, 9}, 5);
    cudnnTransformTensor(handle, &two, t, x, &one, columns, y);
    ok(RESULTS(y, 11, 15, 9, 13, 17), "a transposed copy with gaps, scaled and added");
    cudnnSetTensor(handle, t, y, &two);
    cudnnAddTensor(handle, &two, TENSOR(1, 1, 2, 1), x, &one, t, y);
    ok(RESULTS(y, 4, 4, 6, 6), "a sum that is broadcast");
    c = TENSOR(1, 2, 1, 1);
    cudnnBatchNormalizationForwardInference(
        handle, CUDNN_BATCHNORM_SPATIAL, &one, &none, TENSOR(1, 2, 2, 1), x, TENSOR(1, 2, 2, 1), y,
        c, on_device((float[]){2, 3}, 2), on_device((float[]){10, 20}, 2),
        on_device((float[]){1, 2}, 2), on_device((float[]){3, 0}, 2), 1);
    ok(RESULTS(y, 10, 11, 23, 26), "batch normalisation");
}

int main(void)
{
    pools();
    lrn_and_softmax();
    op_tensors();
    activations();
    reductions();
    moves_and_norm();
    fake_cuda_reset();
    return done_testing();
}
