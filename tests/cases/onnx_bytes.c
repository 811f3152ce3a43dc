#include "cases/onnx_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_clear(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}

void bytes_add(struct bytes *b, const void *data, size_t length)
{
    if (b->length + length > b->capacity) {
        b->capacity = 2 * (b->length + length) + 64;
        b->data = realloc(b->data, b->capacity);
        if (!b->data)
            abort();
    }
    if (length > 0)
        memcpy(b->data + b->length, data, length);
    b->length += length;
}

void bytes_varint(struct bytes *b, uint64_t value)
{
    do {
        unsigned char byte = (unsigned char)((value & 0x7f) | (value >= 0x80 ? 0x80 : 0));

        bytes_add(b, &byte, 1);
        value >>= 7;
    } while (value);
}

void bytes_int(struct bytes *b, int field, int64_t value)
{
    bytes_varint(b, (uint64_t)field << 3);
    bytes_varint(b, (uint64_t)value);
}

void bytes_data(struct bytes *b, int field, const void *data, size_t length)
{
    bytes_varint(b, (uint64_t)field << 3 | 2);
    bytes_varint(b, length);
    bytes_add(b, data, length);
}

void bytes_text(struct bytes *b, int field, const char *text)
{
    bytes_data(b, field, text, strlen(text));
}

void bytes_put(struct bytes *b, int field, struct bytes *inner)
{
    bytes_data(b, field, inner->data, inner->length);
    bytes_clear(inner);
}

bool bytes_write(const struct bytes *b, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool written = file && (b->length == 0 || fwrite(b->data, 1, b->length, file) == b->length);

    return (!file || fclose(file) == 0) && written;
}

static void add_names(struct bytes *b, int field, const char *names)
{
    while (*names) {
        size_t length = strcspn(names, " ");

        if (length == 1 && *names == '-')
            bytes_data(b, field, "", 0);
        else
            bytes_data(b, field, names, length);
        names += length;
        names += strspn(names, " ");
    }
}

struct bytes onnx_node(const char *op, const char *inputs, const char *outputs)
{
    struct bytes node = {0};

    add_names(&node, 1, inputs);
    add_names(&node, 2, outputs);
    bytes_text(&node, 4, op);
    return node;
}

void onnx_attribute_int(struct bytes *node, const char *name, int64_t value)
{
    struct bytes attribute = {0};

    bytes_text(&attribute, 1, name);
    bytes_int(&attribute, 3, value);
    bytes_int(&attribute, 20, 2);
    bytes_put(node, 5, &attribute);
}

void onnx_attribute_ints(struct bytes *node, const char *name, int n, const int64_t *values)
{
    struct bytes attribute = {0};

    bytes_text(&attribute, 1, name);
    for (int i = 0; i < n; i++)
        bytes_int(&attribute, 8, values[i]);
    bytes_int(&attribute, 20, 7);
    bytes_put(node, 5, &attribute);
}

void onnx_attribute_text(struct bytes *node, const char *name, const char *value)
{
    struct bytes attribute = {0};

    bytes_text(&attribute, 1, name);
    bytes_text(&attribute, 4, value);
    bytes_int(&attribute, 20, 3);
    bytes_put(node, 5, &attribute);
}

void onnx_attribute_tensor(struct bytes *node, const char *name, struct bytes tensor)
{
    struct bytes attribute = {0};

    bytes_text(&attribute, 1, name);
    bytes_put(&attribute, 5, &tensor);
    bytes_int(&attribute, 20, 4);
    bytes_put(node, 5, &attribute);
}

void onnx_attribute_graph(struct bytes *node, const char *name, struct bytes graph)
{
    struct bytes attribute = {0};

    bytes_text(&attribute, 1, name);
    bytes_put(&attribute, 6, &graph);
    bytes_int(&attribute, 20, 5);
    bytes_put(node, 5, &attribute);
}

struct bytes onnx_tensor(const char *name, int type, int n, const int64_t *dims)
{
    struct bytes tensor = {0};

    for (int i = 0; i < n; i++)
        bytes_int(&tensor, 1, dims[i]);
    bytes_int(&tensor, 2, type);
    bytes_text(&tensor, 8, name);
    return tensor;
}

struct bytes onnx_floats(const char *name, float value, int n, const int64_t *dims)
{
    struct bytes tensor = onnx_tensor(name, 1, n, dims), values = {0};
    int64_t count = 1;

    for (int i = 0; i < n; i++)
        count *= dims[i];
    for (int64_t i = 0; i < count; i++)
        bytes_add(&values, &value, sizeof value);
    bytes_put(&tensor, 9, &values);
    return tensor;
}

struct bytes onnx_longs(const char *name, int n, const int64_t *values)
{
    struct bytes tensor = onnx_tensor(name, 7, 1, &(int64_t){n});

    bytes_data(&tensor, 9, values, (size_t)n * sizeof *values);
    return tensor;
}

struct bytes onnx_value(const char *name, int type, int n, const int64_t *dims)
{
    struct bytes value = {0}, shape = {0}, tensor = {0}, any = {0};

    for (int i = 0; i < n; i++) {
        struct bytes dim = {0};

        if (dims[i] == 0)
            bytes_text(&dim, 2, "N");
        else
            bytes_int(&dim, 1, dims[i] == ONNX_NOTHING ? 0 : dims[i]);
        bytes_put(&shape, 1, &dim);
    }
    bytes_int(&tensor, 1, type);
    bytes_put(&tensor, 2, &shape);
    bytes_put(&any, 1, &tensor);
    bytes_text(&value, 1, name);
    bytes_put(&value, 2, &any);
    return value;
}

void onnx_add_node(struct bytes *graph, struct bytes node)
{
    bytes_put(graph, ONNX_NODE, &node);
}

void onnx_add_tensor(struct bytes *graph, struct bytes tensor)
{
    bytes_put(graph, ONNX_INITIALIZER, &tensor);
}

/* Returns the bytes of a value of a type by the numbers of onnx.proto; another type ends the test.
 */
static size_t value_size(int type)
{
    switch (type) {
    case 2: /* uint8, int8, bool */
    case 3:
    case 9:
        return 1;
    case 10: /* float16 */
        return 2;
    case 1: /* float, int32 */
    case 6:
        return 4;
    case 7: /* int64, double, uint64 */
    case 11:
    case 13:
        return 8;
    default:
        abort();
    }
}

void onnx_add_values(struct bytes *graph, const char *name, int type, int n, const int64_t *dims,
                     const void *values)
{
    struct bytes tensor = onnx_tensor(name, type, n, dims);
    size_t count = 1;

    for (int i = 0; i < n; i++)
        count *= (size_t)dims[i];
    bytes_data(&tensor, 9, values, count * value_size(type));
    onnx_add_tensor(graph, tensor);
}

struct bytes onnx_model(int64_t opset, struct bytes *graph)
{
    struct bytes model = {0}, import = {0};

    bytes_int(&model, 1, 8);
    bytes_int(&import, 2, opset);
    bytes_put(&model, 8, &import);
    bytes_put(&model, 7, graph);
    return model;
}

struct bytes onnx_usual_graph(void)
{
    struct bytes graph = {0}, value = onnx_value("x", 1, 4, (int64_t[]){0, 3, 8, 8});

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", 1, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    return graph;
}
