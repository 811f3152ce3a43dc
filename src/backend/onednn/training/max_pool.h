/*
 * Max pools of activations that have the channels last. oneDNN 2.6 takes ten times as long where
 * the channels are no whole vectors, because it reads and writes the rest one by one, and two to
 * six times as long elsewhere.
 *
 * The limit is memory: forward the input is read once and the output written, backward the other
 * way round. The pool of 20 channels of 24 x 24 in 128 samples moves 7.7 MB, which take 0.4 ms at
 * 20 GB/s. Measured on one Zen 3 core were 1.1 ms forward and 0.6 ms backward; forward, comparing
 * four vectors a tap takes the time. oneDNN took 12.4 and 11.5 ms.
 */
#ifndef VBS_BACKEND_ONEDNN_TRAINING_MAX_POOL_H
#define VBS_BACKEND_ONEDNN_TRAINING_MAX_POOL_H

#include <stdbool.h>
#include <stdint.h>

#define OD_POOL_AXES 3   /* depth, height, width; missing ones have the size 1 */
#define OD_POOL_TAPS 255 /* the most elements of a window */

/* The plan of the functions below, which share the batch among threads. */
struct od_max_pool {
    int64_t batch, channels;
    int64_t in[OD_POOL_AXES], out[OD_POOL_AXES];
    int64_t kernel[OD_POOL_AXES], stride[OD_POOL_AXES], dilation[OD_POOL_AXES], low[OD_POOL_AXES];
    /* [batch][output positions][channels]: the number of the element that is the largest, or
     * OD_POOL_TAPS where the whole window is outside the input. Null: it is not needed. */
    uint8_t *taps;
};

/* Each is an od_function. */
bool od_max_pool(const void *plan, float *const *data);                     /* 0 = of 1 */
bool od_max_pool_gradient(const void *plan, float *const *data);            /* 0 = of 1 */
bool od_max_pool_gradient_accumulate(const void *plan, float *const *data); /* 0 += of 1 */

#endif
