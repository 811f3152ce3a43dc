/*
 * Mutations of ONNX files for make fuzz: fields of messages changed, removed, doubled, and taken
 * from other files, with the lengths of all messages around them corrected. Bytes mutated at random
 * hardly ever have correct lengths.
 */
#ifndef TESTS_FUZZ_ONNX_H
#define TESTS_FUZZ_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mutates the model (or tensor) of size bytes at data, where there is space for room bytes; gives
 * its new size. */
size_t fuzz_onnx_mutate(uint8_t *data, size_t size, size_t room, bool tensor, unsigned seed);

/* Does the same with a field out of another file. */
size_t fuzz_onnx_cross(uint8_t *data, size_t size, size_t room, bool tensor, const uint8_t *other,
                       size_t other_size, bool other_tensor, unsigned seed);

#endif
