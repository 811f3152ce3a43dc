/* Graphs of ONNX that are wrong, or ask for what is not supported, and what is said of each. */
#ifndef TESTS_ONNX_WRONG_H
#define TESTS_ONNX_WRONG_H

#include "vbslab/status.h"

#include "cases/onnx_bytes.h"

struct onnx_case {
    const char *what;
    void (*fill)(struct bytes *graph); /* from onnx_usual_graph; may begin anew */
    enum vbs_status status;
    const char *why; /* the detail behind the path; null: not compared */
};

/* Adds y = Conv(x, w), where w is [4, 3, 3, 3] and its 432 bytes stand in another file. */
void onnx_add_external(struct bytes *graph, const char *location, const char *offset);

/* Ends with a null what. Some want a file short.bin of 100 bytes beside the model. */
extern const struct onnx_case onnx_cases[];

#endif
