/* make fuzz: libFuzzer on every function that reads files from outside. */
#include "fuzz/readers.h"

#include "fuzz/onnx.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *broken = readers_run(data, size);

    if (broken) {
        fprintf(stderr, "%s: broken promise: %s\n", readers_name(data, size), broken);
        abort();
    }
    return 0;
}

/* Gives where a file of ONNX begins in an input; 0: it has none. */
static size_t model_at(const uint8_t *data, size_t size)
{
    size_t at = 1;

    if (size < 2 || strchr("467A", data[0]) == NULL || data[0] == '\0')
        return 0;
    if (data[0] == '6')
        at += 1 + data[1] % 9;
    return at < size ? at : 0;
}

/* Mutates bytes at random half of the time, else fields of the messages of ONNX, whose lengths stay
 * right. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    size_t at = model_at(data, size);

    if (at == 0 || seed % 4 == 0)
        return LLVMFuzzerMutate(data, size, room);
    return at + fuzz_onnx_mutate(data + at, size - at, room - at, data[0] == '7', seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size,
                                 uint8_t *out, size_t room, unsigned seed)
{
    size_t at = model_at(a, a_size), from = model_at(b, b_size), half;

    if (a_size > room)
        return 0;
    memcpy(out, a, a_size);
    if (at > 0 && from > 0)
        return at + fuzz_onnx_cross(out + at, a_size - at, room - at, a[0] == '7', b + from,
                                    b_size - from, b[0] == '7', seed);
    /* joins the beginning of one with the end of the other */
    half = a_size / 2 + (a_size ? seed % (a_size / 2 + 1) : 0);
    from = b_size ? seed % b_size : 0;
    if (half + b_size - from > room || a_size == 0 || b_size == 0 || a[0] != b[0])
        return 0;
    memcpy(out + half, b + from, b_size - from);
    return half + b_size - from;
}
