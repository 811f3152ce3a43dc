/* Graphs of ONNX that are wrong or not supported, and the message for each. */
#ifndef TESTS_ONNX_WRONG_H
#define TESTS_ONNX_WRONG_H

#include "vbslab/status.h"

#include "cases/onnx_bytes.h"

struct onnx_case {
    const char *what;
    void (*fill)(struct bytes *graph); /* fills a graph of onnx_usual_graph, or begins it anew */
    enum vbs_status status;
    const char *why; /* the message behind the path; null: not compared */
};

/* Adds y = Conv(x, w), where w is [4, 3, 3, 3] and its 432 bytes stand in another file. */
void onnx_add_external(struct bytes *graph, const char *location, const char *offset);

/* The cases; the last of each table has a null what. Some need a file short.bin of 100 bytes beside
 * the model. */
extern const struct onnx_case onnx_cases[];
extern const struct onnx_case onnx_quantised_cases[]; /* onnx_wrong_quantised.c */
extern const struct onnx_case onnx_inner_cases[];     /* onnx_wrong_inner.c: If and Loop */
extern const struct onnx_case onnx_operator_cases[];  /* onnx_wrong_operators.c */

#endif
