/* Makes ONNX files byte by byte, so that they can be wrong in any way. */
#ifndef TESTS_ONNX_BYTES_H
#define TESTS_ONNX_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message of a protocol buffer; memory that runs out ends the test. */
struct bytes {
    unsigned char *data;
    size_t length, capacity;
};

void bytes_clear(struct bytes *b);
void bytes_add(struct bytes *b, const void *data, size_t length);
void bytes_varint(struct bytes *b, uint64_t value);
void bytes_int(struct bytes *b, int field, int64_t value);
void bytes_text(struct bytes *b, int field, const char *text);
void bytes_data(struct bytes *b, int field, const void *data, size_t length);
/* Appends inner as a field, and clears it. */
void bytes_put(struct bytes *b, int field, struct bytes *inner);
bool bytes_write(const struct bytes *b, const char *path);

/* ---- what onnx.proto calls by these names; lists of names are separated by spaces, - is none ----
 */

struct bytes onnx_node(const char *op, const char *inputs, const char *outputs);
void onnx_attribute_int(struct bytes *node, const char *name, int64_t value);
void onnx_attribute_ints(struct bytes *node, const char *name, int n, const int64_t *values);
void onnx_attribute_text(struct bytes *node, const char *name, const char *value);
/* Appends an attribute that is a tensor, which is cleared. */
void onnx_attribute_tensor(struct bytes *node, const char *name, struct bytes tensor);
/* Appends an attribute that is a graph, which is cleared. */
void onnx_attribute_graph(struct bytes *node, const char *name, struct bytes graph);

/* Makes a tensor without values; dims has n dimensions. */
struct bytes onnx_tensor(const char *name, int type, int n, const int64_t *dims);
/* Makes a tensor of floats, all of which are value. */
struct bytes onnx_floats(const char *name, float value, int n, const int64_t *dims);
struct bytes onnx_longs(const char *name, int n, const int64_t *values);

/* Makes an input or output of a graph; dims below 0 are written as they are, 0 as a name, and
 * ONNX_NOTHING as 0. */
#define ONNX_NOTHING INT64_MIN
struct bytes onnx_value(const char *name, int type, int n, const int64_t *dims);

/* The numbers of the fields of a graph. */
#define ONNX_NODE        1
#define ONNX_INITIALIZER 5
#define ONNX_INPUT       11
#define ONNX_OUTPUT      12

/* Put a node, or an initialiser, into the graph, and clear it. */
void onnx_add_node(struct bytes *graph, struct bytes node);
void onnx_add_tensor(struct bytes *graph, struct bytes tensor);
/* Put an initialiser with these values, of the type's size each, into the graph; n 0: a scalar. */
void onnx_add_values(struct bytes *graph, const char *name, int type, int n, const int64_t *dims,
                     const void *values);

/* Makes the file of a graph, which is cleared. */
struct bytes onnx_model(int64_t opset, struct bytes *graph);

/* Makes a graph with the float input x of [N, 3, 8, 8] and the output y. */
struct bytes onnx_usual_graph(void);

#endif
