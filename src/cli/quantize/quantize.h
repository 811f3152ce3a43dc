/* The samples of `vbslab quantize` and `vbslab mixed`, and what the first one prints. */
#ifndef VBS_CLI_QUANTIZE_QUANTIZE_H
#define VBS_CLI_QUANTIZE_QUANTIZE_H

#include "cli/common/common.h"
#include "vbslab/eval.h"
#include "vbslab/npy.h"
#include "vbslab/quantize.h"

/* ---- inputs.c ---- */

/* Options of both commands, for a table of options. */
#define QUANTIZE_OPTION_DATA                                                                       \
    "data", "DIR|FILE.npy",                                                                        \
        "the folder of a data set, whose training images tell the ranges of values and whose "     \
        "test images the accuracy; or an array of numpy, Nx the shape of the input, without "      \
        "labels"
#define QUANTIZE_OPTIONS_RANGES                                                                    \
    {"method", "NAME",                                                                             \
     "how ranges are chosen: minmax, all that was seen; percentile; entropy, what loses least "    \
     "information (default minmax)"},                                                              \
        {"percentile", "P",                                                                        \
         "of --method percentile: the range holds P percent of the values, and as many lie below " \
         "it as "                                                                                  \
         "above (default 99.999)"},                                                                \
        {"images", "N", "training images that tell the ranges (default 512)"},                     \
        {"seed", "N", "decides which images (default 1)"},                                         \
        {"per-tensor", NULL,                                                                       \
         "one scale for all weights of a layer (default: for each output channel)"},               \
        {"symmetric", NULL,                                                                        \
         "values have ranges [-a, a] (default: from the least to the largest)"},                   \
    {                                                                                              \
        "signed", NULL, "values are numbers -128..127 (default: 0..255)"                           \
    }

/* Where samples come from. The words are given; quantize_open_inputs opens the rest, and
 * quantize_clear_inputs frees it. */
struct quantize_inputs {
    const char *model, *data;
    struct vbs_network *network;
    struct vbs_dataset *images, *tests; /* of a folder */
    struct vbs_npy array;               /* of a file */
    struct vbs_normalise normalise;
    int *order; /* of the images */
    int64_t n_images, n_tests;
    uint64_t seed;
};

/* Read the options of ranges and scales, and those of samples. VBS_USAGE. */
enum vbs_status quantize_read_options(struct cli *cli, const char *const *values,
                                      struct vbs_quantize_options *options) VBS_MUST_CHECK;
enum vbs_status quantize_read_inputs(struct cli *cli, const char *const *values,
                                     struct quantize_inputs *inputs) VBS_MUST_CHECK;

/* Loads the network in floats and opens its samples. */
enum vbs_status quantize_open_inputs(struct cli *cli, const char *const *values,
                                     struct quantize_inputs *inputs) VBS_MUST_CHECK;
void quantize_clear_inputs(struct quantize_inputs *inputs);

/* Give the samples that tell ranges; training images that do not, as far as there are such; and the
 * test images. An array has one kind of samples. */
struct vbs_quantize_samples quantize_range_samples(struct quantize_inputs *inputs, int64_t most);
struct vbs_quantize_samples quantize_held_out_samples(struct quantize_inputs *inputs, int64_t most);
struct vbs_quantize_samples quantize_test_samples(struct quantize_inputs *inputs, int64_t most);

/* What two networks name right. */
struct quantize_scores {
    bool scored; /* the next two have values: the data have labels for the network */
    struct vbs_score before, after;
};

/* Scores the network in floats and the quantised one, where the data have labels.
 * quantize_clear_scores clears the scores, also where this fails. */
enum vbs_status quantize_score_both(struct cli *cli, const struct quantize_inputs *inputs,
                                    const struct vbs_quantize_options *options,
                                    const struct vbs_network *quantized,
                                    struct quantize_scores *scores) VBS_MUST_CHECK;
void quantize_clear_scores(struct quantize_scores *scores);

/* ---- print.c ---- */

/* Gives the percentage of images that were named right. */
double quantize_accuracy(const struct vbs_score *score);
/* Prints the line of accuracies for people, where the networks were scored. */
void quantize_print_top1(const struct quantize_scores *scores);

/* A quantisation and its result. */
struct quantize_report {
    const char *path, *data;
    const struct vbs_network *network;
    const struct vbs_quantize_options *options;
    const struct vbs_quantize_row *rows; /* [n_rows] */
    int n_rows;
    const double *alone; /* [n_rows] decibels of the output where one layer is rounded; or null */
    int64_t n_samples;   /* that ranges are of */
    int64_t file_bytes;  /* of the file that was written */
    struct vbs_quantize_difference difference;
    struct quantize_scores scores;
};

/* Print the result: as a table, as JSON, as CSV. VBS_NO_MEMORY. */
enum vbs_status quantize_print_table(struct cli *cli,
                                     const struct quantize_report *report) VBS_MUST_CHECK;
enum vbs_status quantize_print_json(struct cli *cli,
                                    const struct quantize_report *report) VBS_MUST_CHECK;
enum vbs_status quantize_print_csv(struct cli *cli,
                                   const struct quantize_report *report) VBS_MUST_CHECK;

#endif
