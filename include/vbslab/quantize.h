/*
 * vbslab/quantize.h - networks in 8 bits: which values are rounded, the ranges that they have on
 * samples, scales and zero points, and the ONNX file in which all of it is written.
 *
 * Quantisation is static: number q stands for (q - zero) * scale, with a scale and a zero point
 * that are chosen beforehand. Weights are symmetric (zero 0, numbers -127..127), one scale for each
 * output channel or for the tensor; biases have 32 bits in steps of scale of the input * scale of
 * the weights.
 *
 * Rounded are the inputs and outputs of conv, deconv, fc, matmul, add and mul of two tensors,
 * concat, avgpool, sigmoid and leakyrelu; what only moves values, and maxpool, keeps the scale of
 * its input where its input is rounded. A relu or clip directly behind one of these is computed
 * before rounding. The output of an fc or a matmul stays in floats where no operator of 8 bits
 * reads it. All other operators are computed in floats, of rounded values where they read such.
 * These are the places where ONNX Runtime looks for kernels of 8 bits; what stays in floats here
 * and not there are softmax, operators with a constant operand, and the last fc.
 */
#ifndef VBSLAB_QUANTIZE_H
#define VBSLAB_QUANTIZE_H

#include "vbslab/data.h"
#include "vbslab/model.h"
#include "vbslab/progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(NAME, word): how the range of a value is chosen from what samples showed.
 *
 * minmax: all that was seen. percentile: without the lowest and the highest share of it; the two
 * shares are equal and together 100 less the percentile. entropy: the range [-t, t], or the part of
 * it that was seen, that loses least information: t has the least Kullback-Leibler divergence of
 * the values and the rounded values, as distributions over 2048 bins of |x| (S. Migacz, "8-bit
 * inference with TensorRT", GTC 2017); exact zeros, which every scale represents, do not count, and
 * at most a twentieth of the values is clipped. The network's input keeps the range that was seen,
 * because a background that most pixels have would draw the threshold to itself.
 */
#define VBS_QUANTIZE_METHOD_LIST(X)                                                                \
    X(MINMAX, "minmax")                                                                            \
    X(PERCENTILE, "percentile")                                                                    \
    X(ENTROPY, "entropy")

#define VBS_QUANTIZE_METHOD_ENUM(name, word) VBS_QUANTIZE_##name,
/* How the range of a value is chosen. */
enum vbs_quantize_method {
    VBS_QUANTIZE_METHOD_LIST(VBS_QUANTIZE_METHOD_ENUM) VBS_N_QUANTIZE_METHODS
};
#undef VBS_QUANTIZE_METHOD_ENUM

/* Gives the word of a method; never null. */
const char *vbs_quantize_method_word(enum vbs_quantize_method method);

#define VBS_QUANTIZE_DEFAULT_PERCENTILE 99.999 /* the default */
#define VBS_QUANTIZE_BINS               2048   /* of a value's histogram */

/* The options of vbs_quantize. Begin with {.struct_size = sizeof(struct vbs_quantize_options)};
 * members that are 0 or null have the default that is named here. */
struct vbs_quantize_options {
    size_t struct_size;
    enum vbs_quantize_method method;
    double percentile; /* above 50, at most 100; 0: VBS_QUANTIZE_DEFAULT_PERCENTILE */
    bool per_tensor;   /* one scale for all weights of a layer, else one for each output channel */
    bool is_signed;    /* values are -128..127, else 0..255 */
    bool symmetric;    /* zero points are 0, or 128 where values are not signed */
    /* [n_keep] Patterns (fnmatch) of the names of layers and operators that stay in floats; each
     * must be the name of one at least. */
    const char *const *keep;
    int n_keep;
    int batch; /* samples at once, as struct vbs_eval_options */
    int threads;
    struct vbs_progress progress;
};

/* The samples by which ranges are measured. The function writes samples first..first+n-1 as the
 * network takes them, [n, ...]; it is called for all samples, once, or twice but for minmax. */
struct vbs_quantize_samples {
    void *self;
    int64_t n; /* at least 1 */
    enum vbs_status (*inputs)(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs);
};

/* A network in 8 bits. Immutable; freed by vbs_quantized_free. */
struct vbs_quantized_network;

/* What became of an operator: of a layer's own one, or of one that is fused with it and whose value
 * is rounded. Operators that are computed together, as conv and relu, are one row. */
struct vbs_quantize_row {
    int layer;                  /* of the network that was quantised; 0: its input */
    const char *name;           /* owned by the quantised network */
    enum vbs_op op;             /* VBS_N_OPS for the input */
    const char *kind;           /* its word, and those of operators computed with it: conv+relu */
    bool rounded;               /* what it makes is rounded; else the next five are 0 */
    double seen_low, seen_high; /* of the samples */
    double low, high;           /* of the numbers: what is outside becomes the nearest of them */
    struct vbs_int8_value value;
    double clipped;     /* the share of what was seen that is outside; 0 for minmax */
    int64_t n_weights;  /* that are in 8 bits */
    int64_t n_channels; /* scales of the weights */
    double weights_db;  /* 10 log10(sum of w^2 / sum of (w - rounded w)^2); infinite: no error */
    const char *why;    /* why the operator is computed in floats; null: it is in 8 bits */
};

/*
 * Quantises a network, which is borrowed until it is freed, as its parameters are read again when
 * it is written. BatchNorms, Scales and Dropouts behind conv, deconv and fc are folded into weights
 * first. Two calls with equal arguments and threads give the same bytes.
 *
 * Errors: VBS_USAGE (options; keep: a pattern matches no name, the nearest is named; nothing is
 * left to be rounded), VBS_UNSUPPORTED (the network is quantised already; it has operators of 8
 * bits with weights that are no floats), VBS_LIBRARY: a value is no finite number, with its layer
 * and sample; VBS_NO_MEMORY, VBS_INTERRUPTED; errors of vbs_observe and of vbs_parameter_values.
 * Memory: one byte for each weight; 16 KiB for each value but for minmax; that of vbs_observe; a
 * copy of the parameters where something is folded, and one where a value inside a layer is
 * rounded.
 */
enum vbs_status vbs_quantize(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_quantize_samples *samples,
                             const struct vbs_quantize_options *options,
                             struct vbs_quantized_network **quantized) VBS_MUST_CHECK;

/* Frees it; null is allowed. */
void vbs_quantized_free(struct vbs_quantized_network *quantized);

/*
 * Puts layers of a quantised network back into floats: those of the rows with weights in 8 bits for
 * which kept[0..n_rows-1] is true. An operator without weights that reads what such a layer makes
 * is in floats too, unless a layer of 8 bits reads the same value: nothing is rounded for the sake
 * of operators without weights alone. Ranges, scales and rounded weights stay those of quantized,
 * which is borrowed until *mixed is freed by vbs_quantized_free. Where all layers are kept, nothing
 * is left in 8 bits. VBS_NO_MEMORY. O(operators).
 */
enum vbs_status vbs_quantized_keep(struct vbs_ctx *ctx,
                                   const struct vbs_quantized_network *quantized, const bool *kept,
                                   struct vbs_quantized_network **mixed) VBS_MUST_CHECK;

/* Gives the network in floats that was quantised, with factors folded into its weights; it belongs
 * to the quantised network. */
const struct vbs_network *vbs_quantized_floats(const struct vbs_quantized_network *quantized);

/* Gives the rows, owned by the quantised network: the input, then operators in their order. */
const struct vbs_quantize_row *vbs_quantized_rows(const struct vbs_quantized_network *quantized,
                                                  int *n);

/* Writes it as an ONNX file; as vbs_network_export_int8. */
enum vbs_status vbs_quantized_write(struct vbs_ctx *ctx,
                                    const struct vbs_quantized_network *quantized,
                                    const char *path) VBS_MUST_CHECK;

/* Makes the network that loading the written file makes, freed by vbs_network_free; as
 * vbs_network_to_int8. */
enum vbs_status vbs_quantized_load(struct vbs_ctx *ctx,
                                   const struct vbs_quantized_network *quantized,
                                   struct vbs_network **network) VBS_MUST_CHECK;

/*
 * Measures what each layer with weights in 8 bits costs alone, where all others are computed in
 * floats: db[0..n_rows-1] are the error of the network's first output, as in struct
 * vbs_quantize_difference, where what the layer reads and its weights are rounded; infinite for
 * rows without weights. Such layers are the first to be kept in floats. Of options batch, threads
 * and progress count; null: defaults. Errors as vbs_quantize_compare and vbs_quantized_load.
 * Complexity: one run of all samples for each layer.
 */
enum vbs_status vbs_quantized_alone(struct vbs_ctx *ctx,
                                    const struct vbs_quantized_network *quantized,
                                    const struct vbs_quantize_samples *samples,
                                    const struct vbs_quantize_options *options,
                                    double *db) VBS_MUST_CHECK;

/*
 * Measures what each rounding costs alone: values[0..n_operators-1] (vbs_network_operators of
 * vbs_quantized_floats) are the errors of the network's first output where only the value that an
 * operator makes is rounded, and weights[0..n_rows-1] where only the weights of a row are, as
 * shares of the power of the output; 0 where nothing is rounded, or a value has the scale of one
 * that is. Options and errors as vbs_quantized_alone. Complexity: one run of all samples for each
 * value and each row with weights.
 */
enum vbs_status vbs_quantized_errors(struct vbs_ctx *ctx,
                                     const struct vbs_quantized_network *quantized,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options, double *values,
                                     double *weights) VBS_MUST_CHECK;

/* Gives the error that is predicted for a network that vbs_quantized_keep made of quantized: the
 * sum of those of all that it rounds, because errors that have little to do with each other add up
 * in power. values and weights are those of quantized. O(operators). */
double vbs_quantized_predict(const struct vbs_quantized_network *quantized,
                             const struct vbs_quantized_network *mixed, const double *values,
                             const double *weights);

/* Gives the error of one row alone: its weights, and what it reads. */
double vbs_quantized_row_error(const struct vbs_quantized_network *quantized, int row,
                               const double *values, const double *weights);

/* How far the first outputs of two networks differ. A plain value. */
struct vbs_quantize_difference {
    int64_t n;      /* samples that were compared */
    double db;      /* 10 log10(sum of a^2 / sum of (a - b)^2); infinite: no difference */
    double largest; /* difference of two values */
    int64_t n_same; /* samples with the largest value at the same place */
};

/* Convert: an error is the share of the power of the output, and decibels are the power over the
 * error. 0 and infinity stand for each other. */
double vbs_quantize_error(double db);
double vbs_quantize_decibels(double error);

/*
 * Runs two networks on the same samples, and compares their first outputs: a is the one that the
 * other is held against. Samples are compared as long as outputs of a fit into 256 MiB. options: of
 * struct vbs_quantize_options only batch, threads and progress count; null: defaults. VBS_USAGE:
 * the outputs have different numbers of elements; errors of vbs_observe.
 */
enum vbs_status vbs_quantize_compare(struct vbs_ctx *ctx, const struct vbs_network *a,
                                     const struct vbs_network *b,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options,
                                     struct vbs_quantize_difference *difference) VBS_MUST_CHECK;

/* The outputs of a network on samples, beside which those of others are held. */
struct vbs_quantize_reference;

/* Runs a network and keeps its outputs as vbs_quantize_compare does; samples are borrowed until
 * vbs_quantize_reference_free. Of options batch and threads count. Errors as vbs_quantize_compare.
 */
enum vbs_status vbs_quantize_reference_new(
    struct vbs_ctx *ctx, const struct vbs_network *network,
    const struct vbs_quantize_samples *samples, const struct vbs_quantize_options *options,
    struct vbs_quantize_reference **reference) VBS_MUST_CHECK;
/* Runs another network on the same samples; otherwise as vbs_quantize_compare. */
enum vbs_status vbs_quantize_reference_compare(
    struct vbs_ctx *ctx, struct vbs_quantize_reference *reference,
    const struct vbs_network *network, struct vbs_quantize_difference *difference) VBS_MUST_CHECK;
/* Frees it; null is allowed. */
void vbs_quantize_reference_free(struct vbs_quantize_reference *reference);

/* ---- the parts, each alone ---- */

/*
 * Chooses the threshold of the method entropy from counts[0..n_bins-1] of |x| in equal bins from 0
 * on. low and high: the least and the largest x in units of bins, low <= 0 <= high. symmetric: as
 * in the options. Gives the threshold in bins, 1..n_bins: the number of bins that are not clipped.
 * At most VBS_QUANTIZE_BINS bins. Complexity: O(n_bins^2).
 */
int vbs_quantize_entropy(const double *counts, int n_bins, double low, double high, bool symmetric);

/* Gives scale and zero point for values within low..high, which is widened to hold 0. All of it is
 * 0: the scale is 1. */
struct vbs_int8_value vbs_quantize_value(double low, double high, bool is_signed, bool symmetric);

#ifdef __cplusplus
}
#endif
#endif
